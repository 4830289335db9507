"""Trace viewers that need a server, beside the timeline: MLflow's view for notebooks and Phoenix's trace page, in Chromium.

    python -m tests.benchmarks.peer_views [--venv DIR] [--spans 50,1000,20000]

The viewers live in an environment of their own, which is made with pip in a temporary folder (or in DIR, where it is
kept). One that does not install is left out, and said to be. Nothing is asserted. Read the figures beside those of
`python -m tests.benchmarks timeline` from the same machine: "logging" is from the first span to the last one stored,
"first paint" from opening the address to the first step on the page, browser cache empty.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {"MLflow": "mlflow", "Phoenix": "arize-phoenix"}
PORTS = {"MLflow": 5801, "Phoenix": 6006}
LIMIT_S = 120
LOG_LIMIT_S = 600

# Run in the viewers' environment: logs N spans and prints the seconds it took and the address of the trace.
LOG_MLFLOW = """
import logging, sys, time, mlflow
logging.disable(logging.INFO)
n, url = int(sys.argv[1]), sys.argv[2]
mlflow.set_tracking_uri(url)
experiment = mlflow.set_experiment("bench")
began = time.perf_counter()
with mlflow.start_span("root") as root:
    for i in range(n - 1):
        with mlflow.start_span(f"step {i}", span_type="TOOL") as span:
            span.set_inputs({"i": i})
            span.set_outputs({"text": "x" * 40})
if hasattr(mlflow, "flush_trace_async_logging"):
    mlflow.flush_trace_async_logging()
print(time.perf_counter() - began, f"{url}/static-files/lib/notebook-trace-renderer/index.html?trace_id={root.trace_id}"
      f"&experiment_id={experiment.experiment_id}&version={mlflow.__version__}")
"""
LOG_PHOENIX = """
import sys, time
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
n, url = int(sys.argv[1]), sys.argv[2]
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces"), max_queue_size=n + 1000))
tracer = provider.get_tracer("bench")
began = time.perf_counter()
with tracer.start_as_current_span("root") as root:
    for i in range(n - 1):
        with tracer.start_as_current_span(f"step {i}") as span:
            span.set_attribute("openinference.span.kind", "TOOL")
            span.set_attribute("input.value", str(i))
            span.set_attribute("output.value", "x" * 40)
provider.force_flush(120_000)
print(time.perf_counter() - began, f"{url}/redirects/traces/{root.get_span_context().trace_id:032x}")
"""
LOG = {"MLflow": LOG_MLFLOW, "Phoenix": LOG_PHOENIX}


def environment(folder: Path) -> tuple[Path, list[str]]:
    """The interpreter of the viewers' environment, and those that are in it."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    found = []
    for name, package in PACKAGES.items():
        command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", package]
        if (uv := shutil.which("uv")) is not None:
            command = [uv, "pip", "install", "-q", "--python", str(python), package]
        if subprocess.run(command, check=False, capture_output=True, timeout=900).returncode == 0:
            found.append(name)
        else:
            print(f"{name}: {package} did not install; left out.")
    return python, found


@contextlib.contextmanager
def server(name: str, python: Path, home: Path) -> Iterator[str]:
    """The viewer's server, empty; gives its address."""
    port = PORTS[name]
    command = {
        "MLflow": f"mlflow server --backend-store-uri sqlite:///{home}/bench.db --port {port} --workers 1".split(),
        "Phoenix": ["phoenix", "serve"],
    }[name]
    env = {**os.environ, "PHOENIX_WORKING_DIR": str(home), "PHOENIX_PORT": str(port), "PHOENIX_HOST": "127.0.0.1"}
    process = subprocess.Popen(
        [str(python.parent / command[0]), *command[1:]],
        cwd=home,
        env=env,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(LIMIT_S * 5):
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(url, timeout=2)
                break
            time.sleep(0.2)
        else:
            raise TimeoutError(f"{name} did not come up within {LIMIT_S} s.")
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def opened(address: str) -> tuple[float | None, float]:
    """Seconds to the first step on the page (None: not within the limit), and megabytes it fetched."""
    from playwright.sync_api import Error, sync_playwright

    sizes: list[int] = []
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--no-first-run", "--disable-sync"],
        )
        page = chromium.new_page(viewport={"width": 1200, "height": 800})
        page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        began = time.perf_counter()
        page.goto(address, wait_until="commit")
        try:
            page.get_by_text("step 0").first.wait_for(timeout=LIMIT_S * 1000)
        except Error:
            return None, sum(sizes) / 1e6
        paint_s = time.perf_counter() - began
        page.wait_for_timeout(500)
        chromium.close()
    return paint_s, sum(sizes) / 1e6


def main() -> int:
    """Print a line for each viewer and number of spans."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peer_views")
    parser.add_argument("--venv", type=Path, help="keep the viewers' environment here")
    parser.add_argument("--spans", default="50,1000", help="numbers of spans")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        python, names = environment(options.venv or Path(scratch) / "venv")
        for name in names:
            for n in map(int, options.spans.split(",")):
                home = Path(tempfile.mkdtemp(dir=scratch))
                with server(name, python, home) as url:
                    try:
                        logged = subprocess.run(
                            [str(python), "-c", LOG[name], str(n), url],
                            capture_output=True,
                            text=True,
                            check=True,
                            timeout=LOG_LIMIT_S,
                        )
                    except subprocess.TimeoutExpired:
                        print(f"{n:,} spans, {name}: logging > {LOG_LIMIT_S} s", flush=True)
                        continue
                    except subprocess.CalledProcessError as exc:
                        print(f"{n:,} spans, {name}: logging failed: {exc.stderr.strip().splitlines()[-1:]}", flush=True)
                        continue
                    seconds, address = logged.stdout.split()[-2:]
                    paint_s, megabytes = opened(address)
                paint = f"> {LIMIT_S} s" if paint_s is None else f"{paint_s:.2f} s"
                figures = f"logging {float(seconds):.2f} s · payload {megabytes:.2f} MB · first paint {paint}"
                print(f"{n:,} spans, {name}: {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
