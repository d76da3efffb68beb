# The app in a container: docker build -t headscope . && docker run -p 127.0.0.1:8400:8400 headscope
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:3.11-slim
# --build-arg TORCH_INDEX=… names an index with CPU builds of torch; a plain one brings CUDA along
ARG TORCH_INDEX=
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY --from=build /dist /dist
RUN pip install --no-cache-dir /dist/*.whl && rm -r /dist \
 && useradd --create-home --uid 1000 headscope
USER headscope
WORKDIR /home/headscope
EXPOSE 8400
# published on loopback alone, as above, the app asks for the token that it prints
CMD ["headscope", "app", "--host", "0.0.0.0", "--port", "8400", "--allow-host", "localhost", "--no-browser"]
