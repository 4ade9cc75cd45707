//! A person who is logged in with `mcp-remote` does not log in again.

use std::time::Duration;

use ridethrough_oauth_core::mcp_remote::RemoteArguments;
use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn a_login_of_mcp_remote_is_used_by_every_command() {
    let rig = Rig::new().await;
    rig.log_in_with_mcp_remote(RemoteArguments::default()).await;

    let ran = rig.run(&["tools", "SERVER"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(rig.world.count("one", "/authorize"), 1);
    assert_eq!(rig.run(&["auth", "status", "SERVER"]).await.code, Some(0));
}

#[tokio::test]
async fn an_entry_is_looked_for_by_its_own_arguments() {
    let rig = Rig::new().await;
    let headers = [("X-Team".to_owned(), "${TEAM}".to_owned())].into();
    rig.log_in_with_mcp_remote(RemoteArguments { headers, ..RemoteArguments::default() }).await;
    let entry = format!(
        r#"{{"mcpServers":{{"guarded":{{"command":"ridethrough","args":["bridge","{}",
            "--header","X-Team: ${{TEAM}}"],"env":{{"TEAM":"blue"}}}}}}}}"#,
        rig.world.mcp_url()
    );
    std::fs::create_dir_all(rig.folder.0.join(".cursor")).unwrap();
    std::fs::write(rig.folder.0.join(".cursor/mcp.json"), entry).unwrap();

    let other = rig.run(&["tools", "SERVER"]).await;
    let ran = rig.run(&["tools", "guarded"]).await;

    assert_eq!((other.code, ran.code), (Some(5), Some(0)), "{other:?} {ran:?}");
}

impl Rig {
    /// Stores a login as `mcp-remote` does, and none in this project's own store.
    async fn log_in_with_mcp_remote(&self, arguments: RemoteArguments) {
        self.log_in(Duration::ZERO).await;
        std::fs::remove_dir_all(self.folder.path()).unwrap();
        let arguments = RemoteArguments { url: self.world.mcp_url(), ..arguments };
        let (tokens, client) = {
            let state = self.world.state();
            let first = |names: &mut dyn Iterator<Item = &String>| names.next().cloned().unwrap();
            let tokens = json!({
                "access_token": first(&mut state.access.keys()), "token_type": "Bearer",
                "refresh_token": first(&mut state.refresh.keys()), "expires_in": 3600,
                "scope": "mcp", "issuer": state.one,
            });
            let client = json!({
                "client_id": first(&mut state.clients.keys()), "issuer": state.one,
                "redirect_uris": ["http://localhost:4000/oauth/callback"],
            });
            (tokens, client)
        };
        let folder = self.folder.0.join(".mcp-auth/mcp-remote-v1");
        std::fs::create_dir_all(&folder).unwrap();
        for (file, value) in [(arguments.tokens_file(), tokens), (arguments.client_file(), client)]
        {
            let path = folder.join(file);
            std::fs::write(&path, value.to_string()).unwrap();
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, private).unwrap();
        }
    }
}
