"""Web servers on this machine that behave well or badly, and no trace of the user's
settings."""

import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest


@dataclass
class Server:
    """Serves ``files``; ``asked`` records the path of every request.

    The behaviours: "plain", "cut" announces the whole file and hangs up halfway, "mute"
    never answers.
    """

    files: dict[str, bytes]
    behaviour: str = "plain"
    asked: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def start(self) -> http.server.ThreadingHTTPServer:
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                if server.behaviour == "mute":
                    server.over.wait(20)
                    return
                asked_for = self.path.lstrip("/")
                content = server.files.get(asked_for)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                half = len(content) // 2
                self.wfile.write(
                    content[:half] if server.behaviour == "cut" else content
                )

            def log_message(self, format: str, *args: object) -> None:
                pass

        address = ("127.0.0.1", 0)
        listener = http.server.ThreadingHTTPServer(address, Handler)
        self.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(
            target=listener.serve_forever,
            args=(0.01,),
            daemon=True,
        )
        thread.start()
        return listener


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers that stop with the test: ``serve(files, behaviour)``."""
    running = []

    def start(files: dict[str, bytes], behaviour: str = "plain") -> Server:
        server = Server(files, behaviour)
        running.append((server, server.start()))
        return server

    yield start
    for server, listener in running:
        server.over.set()
        listener.shutdown()
        listener.server_close()


@pytest.fixture(autouse=True)
def no_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The user's folders and proxies must not decide a test, nor may a test fill their
    cache."""
    for name in ("RAW_DIR", "OFFLINE"):
        monkeypatch.delenv(f"KERHRM_{name}", raising=False)
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(cache))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
