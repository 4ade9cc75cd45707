//! `ridethrough import` of servers that want a login.

use crate::rig::Rig;

#[tokio::test]
async fn a_server_that_wants_a_login_is_imported_and_the_login_is_named() {
    let rig = Rig::new().await;
    rig.write_entry(&format!(
        r#"{{"command":"npx","args":["-y","mcp-remote","{}","9696","--resource","urn:a"]}}"#,
        rig.world.mcp_url()
    ));

    let told = rig.run(&["import"]).await;
    let written = rig.run(&["import", "--write", "--json"]).await;

    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.out.contains("replace  guarded: mcp-remote by"), "{told:?}");
    assert!(told.out.contains("; then log in: `ridethrough login guarded`"), "{told:?}");
    let server = &written.json()["files"][0]["servers"][0];
    assert_eq!(server["login"], "ridethrough login guarded", "{server}");
    let file = std::fs::read_to_string(rig.folder.0.join(".cursor/mcp.json")).unwrap();
    for word in ["bridge", "9696", "--resource", "urn:a"] {
        assert!(file.contains(&format!("\"{word}\"")), "{word}: {file}");
    }
    assert_eq!(rig.world.count("one", "/register"), 0);
}

#[tokio::test]
async fn a_login_of_mcp_remote_is_told_to_be_used() {
    let rig = Rig::new().await;
    let url = rig.world.mcp_url();
    rig.write_entry(&format!(r#"{{"command":"npx","args":["mcp-remote","{url}"]}}"#));
    let arguments =
        ridethrough_oauth_core::mcp_remote::RemoteArguments { url, ..Default::default() };
    let folder = rig.folder.0.join(".mcp-auth/mcp-remote-v1");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(arguments.tokens_file()), "{}").unwrap();

    let told = rig.run(&["import"]).await;

    assert!(told.out.contains("; the login of mcp-remote is used"), "{told:?}");
}

/// A refused token has nothing to do with a login.
#[tokio::test]
async fn a_server_that_refuses_the_token_of_its_entry_is_left() {
    let rig = Rig::new().await;
    rig.write_entry(&format!(
        r#"{{"command":"npx","args":["mcp-remote","{}","--header","Authorization: Bearer x"]}}"#,
        rig.world.mcp_url()
    ));

    let told = rig.run(&["import"]).await;

    assert!(told.out.contains("left     guarded: "), "{told:?}");
}

impl Rig {
    fn write_entry(&self, entry: &str) {
        let folder = self.folder.0.join(".cursor");
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(r#"{{"mcpServers":{{"guarded":{entry}}}}}"#);
        std::fs::write(folder.join("mcp.json"), text).unwrap();
    }
}
