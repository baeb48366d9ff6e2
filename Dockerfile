# syntax=docker/dockerfile:1
# The version the whole suite runs on.
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim AS builder
WORKDIR /build
COPY requirements-build.lock requirements.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements-build.lock
RUN python -m venv --without-pip /opt/venv \
 && /opt/build/bin/uv pip install --no-cache --python /opt/venv/bin/python --compile-bytecode \
      --only-binary :all: --require-hashes -r requirements.lock
# Last, so that a change of code does not install the dependencies again.
COPY . .
RUN /opt/build/bin/hatchling build -t wheel -d /build/dist \
 && /opt/build/bin/uv pip install --no-cache --offline --python /opt/venv/bin/python --compile-bytecode \
      --no-deps /build/dist/*.whl

FROM python:${PYTHON_VERSION}-slim AS runtime
RUN groupadd --gid 10001 postern \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin postern \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/postern
COPY --from=builder /opt/venv /opt/venv
# The root file system may be mounted read-only: state goes to the volume, scratch files to /tmp.
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    POSTERN_DATA_DIR=/var/lib/postern
WORKDIR /var/lib/postern
VOLUME ["/var/lib/postern"]
EXPOSE 8000
USER 10001:10001
STOPSIGNAL SIGTERM
# No proxy: the container asks itself. Only 2xx passes; anything else raises and exits 1.
HEALTHCHECK --interval=10s --timeout=4s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(f\"http://127.0.0.1:{os.environ.get('POSTERN_PORT', '8000')}/healthz\", timeout=3)"]
ENTRYPOINT ["postern"]
CMD ["serve", "--host", "0.0.0.0"]
