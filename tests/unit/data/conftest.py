"""Web servers on this machine that behave well or badly, and no trace of the user's settings."""

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest


@dataclass
class Server:
    """Serves ``files``; ``asked`` records path and Range of every request.

    The behaviours: "resume" honours Range, "plain" ignores it, "cut" announces the
    whole file and hangs up halfway, "labelled" declares a Content-Encoding of gzip,
    "mute" never answers.
    """

    files: dict[str, bytes]
    behaviour: str = "resume"
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def start(self) -> http.server.ThreadingHTTPServer:
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range")
                server.asked.append((self.path, asked))
                if server.behaviour == "mute":
                    server.over.wait(20)
                    return
                content = server.files.get(self.path.lstrip("/"))
                if content is None:
                    self.send_error(404)
                    return
                start = 0
                if asked and server.behaviour != "plain":
                    match = re.fullmatch(r"bytes=(\d+)-", asked)
                    assert match
                    start = int(match[1])
                    if start >= len(content):
                        self.send_error(416)
                        return
                    self.send_response(206)
                    span = f"bytes {start}-{len(content) - 1}/{len(content)}"
                    self.send_header("Content-Range", span)
                else:
                    self.send_response(200)
                if server.behaviour == "labelled":
                    self.send_header("Content-Encoding", "gzip")
                rest = content[start:]
                self.send_header("Content-Length", str(len(rest)))
                self.end_headers()
                self.wfile.write(rest[: len(rest) // 2] if server.behaviour == "cut" else rest)

            def log_message(self, format: str, *args: object) -> None:
                pass

        listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{listener.server_address[1]}"
        threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
        return listener


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers that stop with the test: ``serve(files, behaviour)``."""
    running = []

    def start(files: dict[str, bytes], behaviour: str = "resume") -> Server:
        server = Server(files, behaviour)
        running.append((server, server.start()))
        return server

    yield start
    for server, listener in running:
        server.over.set()
        listener.shutdown()
        listener.server_close()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The user's folders and proxies must not decide a test, nor may a test fill their cache."""
    for name in ("RAW_DIR", "MIRRORS", "OFFLINE"):
        monkeypatch.delenv(f"KERHRM_{name}", raising=False)
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
