# attnjax with JAX for GPUs (or, with --build-arg JAX=tpu, for TPUs), of the versions that are tested.
#
#   docker build --tag attnjax .
#   docker run --gpus all --volume "$PWD/runs:/runs" attnjax run positions --runs /runs
FROM python:3.12-slim

ARG JAX=cuda
WORKDIR /opt/attnjax
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY attnjax attnjax
COPY experiments experiments
COPY records records
RUN pip install --no-cache-dir uv==$(sed -n 's/^uv==//p' constraints.txt) \
    && uv pip install --system --no-cache --compile-bytecode --constraints constraints.txt ".[$JAX]"

# compiled programs outlive a pod that is started again
ENV XDG_CACHE_HOME=/data/cache
ENTRYPOINT ["python", "-m", "attnjax"]
CMD ["--help"]
