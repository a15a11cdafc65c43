"""The chips for which a training step can be compiled without having one, and slices of them."""

import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import prod
from typing import Any, Literal

from attnjax.errors import UserError, unknown
from attnjax.training.settings import Precision


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A kind of chip, by its maker's figures.

    Attributes:
        teraflops: the most operations of matrix products a second, in 10^12, in bfloat16.
        float32: the speed of a product of float32 matrices, at JAX's default precision, as a share
            of that.
        memory: the bytes of its memory.
        bandwidth: the bytes a second between memory and chip.
        interconnect: the bytes a second that a chip can send to others, over all its links.
        shapes: the slices of these chips: the numbers of chips in each direction.
        target: fields of XLA's description of a GPU; the compiler of TPUs knows its chips.
    """

    name: str
    platform: Literal["tpu", "cuda"]
    teraflops: float
    float32: float = 1.0  # a TPU multiplies in bfloat16
    memory: float
    bandwidth: float
    interconnect: float
    shapes: tuple[str, ...]
    target: dict[str, float | str] = field(default_factory=dict)

    def flops(self, precision: Precision) -> float:
        """Return the peak rate of matrix products, in operations a second."""
        return self.teraflops * 1e12 * (self.float32 if precision == "float32" else 1)


FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
DEEP = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16")
ONE_MACHINE = ("1", "2", "4", "8")

CHIPS = {
    # https://cloud.google.com/tpu/docs: "System architecture" of each; links as Gbps / 8
    "v4": Chip(
        name="TPU v4",
        platform="tpu",
        teraflops=275,
        memory=32 * 2**30,
        bandwidth=1228e9,
        interconnect=2400e9 / 8,
        shapes=DEEP,
    ),
    "v5e": Chip(
        name="TPU v5e",
        platform="tpu",
        teraflops=197,
        memory=16 * 2**30,
        bandwidth=819e9,
        interconnect=1600e9 / 8,
        shapes=FLAT,
    ),
    "v5p": Chip(
        name="TPU v5p",
        platform="tpu",
        teraflops=459,
        memory=95 * 2**30,
        bandwidth=2765e9,
        interconnect=4800e9 / 8,
        shapes=DEEP,
    ),
    "v6e": Chip(
        name="TPU v6e",
        platform="tpu",
        teraflops=918,
        memory=32 * 2**30,
        bandwidth=1600e9,
        interconnect=3200e9 / 8,
        shapes=FLAT,
    ),
    # NVIDIA's data sheets of the SXM boards with 80 GB; NVLink in one direction
    "a100": Chip(
        name="NVIDIA A100",
        platform="cuda",
        teraflops=312,
        float32=0.5,  # TensorFloat-32
        memory=80e9,
        bandwidth=2039e9,
        interconnect=300e9,
        shapes=ONE_MACHINE,
        target={
            "cuda_compute_capability": "{ major: 8 minor: 0 }",
            "core_count": 108,
            "fpus_per_core": 64,
            "clock_rate_ghz": 1.41,
            "l2_cache_size": 40 * 2**20,
            "shared_memory_per_core": 164 * 2**10,
            "shared_memory_per_block_optin": 163 * 2**10,
        },
    ),
    "h100": Chip(
        name="NVIDIA H100",
        platform="cuda",
        teraflops=989,
        float32=0.5,
        memory=80e9,
        bandwidth=3352e9,
        interconnect=450e9,
        shapes=ONE_MACHINE,
        target={
            "cuda_compute_capability": "{ major: 9 minor: 0 }",
            "core_count": 132,
            "fpus_per_core": 128,
            "clock_rate_ghz": 1.98,
            "l2_cache_size": 50 * 2**20,
            "shared_memory_per_core": 228 * 2**10,
            "shared_memory_per_block_optin": 227 * 2**10,
        },
    ),
}
"""The chips by the word before the colon in `--on`."""

WITHOUT_A_TPU = {
    # otherwise libtpu asks Google Cloud which machine this is
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # otherwise libtpu warns; the topology's own name decides
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    # no chip is used, so that another process may use libtpu at the same time
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""The environment in which libtpu compiles without a TPU."""

COMPILERS = {"tpu": "libtpu", "cuda": "jax_cuda12_plugin"}
"""The package that compiles for a platform."""


@dataclass(frozen=True)
class Topology:
    """Some chips of one kind that train together; the name is that of `--on`, "v5e:2x4"."""

    name: str
    chip: Chip
    count: int

    @classmethod
    def named(cls, name: str) -> "Topology":
        """Return the slice of a name such as "v5e:2x4" or "h100:8".

        Raises:
            UserError: the kind of chip or the shape is unknown.
        """
        kind, _, shape = name.partition(":")
        if kind not in CHIPS:
            raise unknown("chip", kind, CHIPS)
        chip = CHIPS[kind]
        if shape not in chip.shapes:
            raise UserError(
                f"unknown topology {name!r}; {chip.name} has "
                f"{', '.join(f'{kind}:{known}' for known in chip.shapes)}"
            )
        return cls(name, chip, prod(map(int, shape.split("x"))))

    def devices(self) -> list[Any]:
        """Return the devices, for which programs can be compiled and not run.

        Raises:
            UserError: the compiler for these chips is not installed.
        """
        if find_spec(COMPILERS[self.chip.platform]) is None:
            raise UserError(
                f"a rehearsal on {self.chip.name} needs its compiler, "
                f"{COMPILERS[self.chip.platform]}: in a checkout of attnjax, "
                "pip install '.[rehearse]'"
            )
        # Imported here: it is experimental, and nothing else needs it.
        from jax.experimental import topologies

        options = {}
        if self.chip.platform == "tpu":
            os.environ.update(WITHOUT_A_TPU)
        else:
            gpu = _target_config(self.chip)
            options = {"topology": f"1x1x{self.count}", "target_config": gpu}
        return topologies.get_topology_desc(self.name, self.chip.platform, **options).devices


def _target_config(chip: Chip) -> str:
    """Return XLA's description of a GPU, in the text form of its protocol buffer."""
    own = "\n".join(f"  {name}: {value}" for name, value in chip.target.items())
    return f"""\
gpu_device_info {{
{own}
  memory_bandwidth: {chip.bandwidth:.0f}
  device_memory_size: {chip.memory:.0f}
  threads_per_block_limit: 1024
  threads_per_warp: 32
  threads_per_core_limit: 2048
  block_dim_limit_x: {2**31 - 1}
  block_dim_limit_y: {2**16 - 1}
  block_dim_limit_z: {2**16 - 1}
  shared_memory_per_block: {48 * 2**10}
  registers_per_core_limit: {2**16}
  registers_per_block_limit: {2**16}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 8 }}
device_description_str: "{chip.name}"
"""
