//! What a stateless server tells whoever listens. There is no session that could keep it, so it is the
//! program's.

use std::sync::LazyLock;

use rmcp::service::SubscriptionContext;
use tokio::sync::broadcast;

#[derive(Clone, Copy)]
pub(crate) enum News {
    Changed,
    PromptsChanged,
    ToolsChanged,
    Touched,
}

static NEWS: LazyLock<broadcast::Sender<News>> = LazyLock::new(|| broadcast::channel(64).0);

pub(crate) fn tell(news: News) {
    // Nobody may be listening.
    let _ = NEWS.send(news);
}

/// Passes news on for as long as the subscription lasts; its sink drops what was not asked for.
pub(crate) async fn pass_on(context: &SubscriptionContext) {
    let (mut inbox, sink) = (NEWS.subscribe(), context.sink());
    loop {
        let news = tokio::select! {
            () = context.cancelled() => return,
            news = inbox.recv() => news,
        };
        match news {
            Ok(News::Changed) => {
                let _ = sink.notify_tool_list_changed().await;
                let _ = sink.notify_prompt_list_changed().await;
                let _ = sink.notify_resource_list_changed().await;
            }
            Ok(News::PromptsChanged) => {
                let _ = sink.notify_prompt_list_changed().await;
            }
            Ok(News::ToolsChanged) => {
                let _ = sink.notify_tool_list_changed().await;
            }
            Ok(News::Touched) => {
                let _ = sink.notify_resource_updated("test://note").await;
            }
            Err(_) => return,
        }
    }
}
