"""The script that every machine of a slice runs when it starts, also after it was taken away.

It starts the timer that deletes the slice, installs the code, takes the runs from the bucket and
goes on with them. The first machine copies them back, and deletes the slice when they are done.
"""

import shlex
from collections.abc import Sequence

from launch.duration import seconds
from launch.tpu import commands
from launch.tpu.site import TpuSite

PORT = 8476
"""Where the first process listens for the others."""

REQUEUE = 75
"""The exit code of `attnjax run` that asks to be started again; everything is saved."""

SCRIPT = """\
#!/bin/bash
# Runs as root on every machine of the slice {name}.
set -u
export HOME=${{HOME:-/root}}
delete=({delete})

# Whatever happens, the slice is deleted after this time.
systemd-run --on-active={seconds} "${{delete[@]}}"

attribute() {{
    curl --silent --fail --header Metadata-Flavor:Google \\
        "http://metadata.google.internal/computeMetadata/v1/instance/attributes/$1"
}}
IFS=, read -ra machines <<< "$(attribute worker-network-endpoints)"
export JAX_PROCESS_ID=$(attribute agent-worker-number)
export JAX_NUM_PROCESSES=${{#machines[@]}}
export JAX_COORDINATOR_ADDRESS=$(cut -d: -f3 <<< "${{machines[0]}}"):{port}

mkdir -p {home} && cd {home} || exit
gcloud storage cp {code} code.tar.gz && tar -xzf code.tar.gz || exit
python3 -m pip install --quiet uv
python3 -m uv venv --quiet --clear --python 3.12 .venv
python3 -m uv pip install --quiet --python .venv/bin/python -c constraints.txt '.[tpu]' || exit
mkdir -p runs/{experiment} data
{data}{lines}
# Only the first machine reads and writes runs.
save() {{ [ "$JAX_PROCESS_ID" = 0 ] && gcloud storage rsync --recursive {local} {remote}; }}
if [ "$JAX_PROCESS_ID" = 0 ]; then
    gcloud storage rm {exit_code}
    gcloud storage rsync --recursive {remote} {local}
    [ -f changes.patch ] && cp changes.patch {local}
    while sleep {save_every}; do save; done &
    saving=$!
fi
export ATTNJAX_DATA=$PWD/data
.venv/bin/python -m attnjax run {words} > >(tee -a {log}) 2>&1
code=$?
if [ "$JAX_PROCESS_ID" = 0 ]; then
    kill $saving
    [ $code = 0 ] && .venv/bin/python -m attnjax report {local}
    save
    # {requeue}: the machine is being taken away, and the runs go on when it comes back
    if [ $code != {requeue} ]; then
        echo $code | gcloud storage cp - {exit_code}
        "${{delete[@]}}"
    fi
fi
"""


def start_script(site: TpuSite, name: str, experiment: str, words: Sequence[str]) -> str:
    """The script.

    Args:
        site: the project.
        name: the name of the slice.
        experiment: the name of the experiment's folder.
        words: the arguments of `attnjax run`.
    """
    data = f"gcloud storage rsync --recursive {shlex.quote(site.data)} data\n" if site.data else ""
    quoted = {
        "home": "/opt/attnjax",
        "code": f"{commands.shipped(site, name)}/{commands.CODE}",
        "experiment": experiment,
        "local": f"runs/{experiment}",
        "log": f"runs/{experiment}/{commands.LOG}",
        "remote": commands.runs(site, experiment),
        "exit_code": f"{commands.shipped(site, name)}/{commands.EXIT_CODE}",
    }
    return SCRIPT.format(
        name=name,
        delete=shlex.join(commands.delete(site, name)),
        seconds=seconds(site.time),
        port=PORT,
        requeue=REQUEUE,
        save_every=site.save_every,
        words=shlex.join(words),
        data=data,
        lines="".join(f"{line}\n" for line in site.lines),
        **{key: shlex.quote(value) for key, value in quoted.items()},
    )
