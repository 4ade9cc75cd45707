"""A local MCP server: `pid` tells its process, and `die` ends it."""

import json
import os
import sys

print("started", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "child", "version": "1"},
        }
    elif method == "tools/call" and message["params"]["name"] == "die":
        os._exit(3)
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": str(os.getpid())}]}
    elif method == "tools/list":
        result = {"tools": [{"name": "pid", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
