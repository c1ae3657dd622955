# derivlint in a container: docker run --rm -v "$PWD:/work:ro" derivlint check
FROM python:3.13-slim AS build
COPY . /src
RUN pip wheel --quiet --no-cache-dir --wheel-dir /wheels /src

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --quiet --no-cache-dir --no-index --find-links /wheels derivlint \
    && useradd --uid 1000 --create-home derivlint
USER derivlint
WORKDIR /work
ENTRYPOINT ["derivlint"]
CMD ["--help"]
