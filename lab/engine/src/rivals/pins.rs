//! Reads versions from the files in which package managers pin them.

/// Returns the version in a pin of this package: `mcp==2.3.0`, `a[b]==1.2`, `"a/b": "1.2.3"`, `rmcp = {
/// version = "=3.8.0"`.
pub fn pinned<'a>(pins: &'a str, package: &str) -> Option<&'a str> {
    pins.lines().find_map(|line| {
        let rest = line.trim().trim_start_matches('"').strip_prefix(package)?;
        let is_whole_name = rest.starts_with(['=', '"', ' ', '[']);
        let version = rest[rest.find('=').or_else(|| rest.find(':'))?..]
            .trim_start_matches(|it: char| !it.is_ascii_digit());
        let end = version.find(|it: char| !(it.is_ascii_alphanumeric() || it == '.'));
        Some(&version[..end.unwrap_or(version.len())]).filter(|it| is_whole_name && !it.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_pins_of_every_package_manager() {
        let cargo = "[dependencies]\nrmcp = { version = \"=3.8.0\", features = [] }";
        let npm =
            "\"dependencies\": {\n  \"@a/sdk-extra\": \"9.9.9\",\n  \"@a/sdk\": \"1.32.2\"\n}";

        assert_eq!(pinned("mcp-types==9.9.9\nmcp==2.3.0\n", "mcp"), Some("2.3.0"));
        assert_eq!(pinned("fastmcp-slim[client2]==4.1.4", "fastmcp-slim"), Some("4.1.4"));
        assert_eq!(pinned(npm, "@a/sdk"), Some("1.32.2"));
        assert_eq!(pinned(cargo, "rmcp"), Some("3.8.0"));
        assert_eq!(pinned(cargo, "axum"), None);
    }
}
