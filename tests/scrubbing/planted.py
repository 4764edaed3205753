"""Secrets of all kinds, and recordings with them in every place where a text may be."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECRETS = {
    "host": "gpu-node-17.acme.internal",
    "short host": "gpu-node-17",
    "cloud host": "ip-10-7-3-17.ec2.internal",
    "user": "annlee",
    "user at host": "annlee@gpu-node-17",
    "home": "/home/annlee",
    "path": "/home/annlee/acme-llm/train_secret_model.bin",
    "path with blanks": "/home/annlee/My Secret Project/run.py",
    "mount": "/mnt/acme_nfs/checkpoints/step_100.pt",
    "path of Windows": "C:\\Users\\annlee\\acme\\weights.bin",
    "share": "\\\\fileserver\\acme\\weights.bin",
    "command": "python -m acme.train --lr 0.1 --data /data/acme",
    "launcher": "torchrun --nproc-per-node 8 main.py --name acme-pretrain-v7",
    "address": "10.20.30.40",
    "address with port": "192.168.13.9:29500",
    "address of version 6": "fe80::1ff:fe23:4567:890a",
    "hardware address": "3c:ec:ef:12:34:56",
    "url": "https://wiki.acme.com/llm/roadmap",
    "url with password": "https://ann:hunter22pass@repo.acme.com/llm",
    "bucket": "s3://acme-private-bucket/runs/7",
    "other bucket": "gs://acme-other-bucket/x",
    "store": "tcp://10.20.30.41:29400",
    "remote": "git@github.com:acme-corp/llm-secret.git",
    "email": "ann.lee@acme-corp.com",
    "uuid": "GPU-5a1e5c2d-0a1b-2c3d-4e5f-0123456789ab",
    "bus": "00000000:3B:00.0",
    "aws id": "AKIAIOSFODNN7EXAMPLE",
    "aws key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE0",
    "aws variable": "AWS_SECRET_ACCESS_KEY=zzJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKE",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "google token": "ya29.a0AfH6SMBabcdefghijklmnop1234",
    "hugging face": "hf_abcdefghijklmnopqrstuvwxyz012345",
    "github": "ghp_0123456789abcdefghij0123456789abcdef",
    "fine-grained": "github_pat_11ABCDEFG0abcdefghijklmnop",
    "openai": "sk-proj-abcdefghijklmnop1234567890",
    "slack": "xoxb-123456789012-abcdefghijklmnop",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n"
    "-----END RSA PRIVATE KEY-----",
    "password": "password=correcthorse9",
    "bearer": "Authorization: Bearer abcdefgh12345678XYZ",
    "variable": "WANDB_PROJECT=acme-pretrain-v7",
    "job": "SLURM_JOB_NAME=acme-nightly",
    "weights and biases": "wandb login 0123456789abcdef0123456789abcdef01234567",
    "role": "arn:aws:iam::123456789012:role/acme-train",
    "container": "acmestore.blob.core.windows.net/private-runs",
    "pod": "trainer-0.llm-team.svc.cluster.local:29500",
    "include": "cc -I/opt/acme-private/include",
    "mounted": "dbfs:/mnt/acme-mount/date=2024-01/x(1)/weights.bin",
    "encoded": "%2Fhome%2Fannlee%2Facme",
}
"""What it is → the text, as it may stand in any other text."""

FIELD_SECRETS = {
    "host_name": "trainbox42",
    "user": "bobsmith",
    "process_name": "acme-trainer-main",
    "run_name": "quarterly-secret-run",
    "serial_number": "1653921041234",
    "api_key": "plainlookingkey",
    "master_addr": "headnode9",
    "cmdline": "./launch --customer bigbank",
    "git_commit": "8f2c1deadbeef",
    "traceName": "/scratch/bobsmith/nightly.json",
}
"""Key → a text that only its key gives away."""

FRAGMENTS = (
    *(
        "annlee",
        "gpu-node-17",
        "My Secret Project",
        "Secret Project",
        "acme-train",
        "private-runs",
        "llm-team",
        "acme-private",
        "acme-mount",
        "acme_nfs",
        "fileserver",
        "hunter22pass",
    ),
    *("acme-private-bucket", "acme-other-bucket", "acme-corp", "llm-secret", "ann.lee"),
    *("correcthorse9", "abcdefgh12345678XYZ", "acme-nightly", "MIIEow", "10.20.30", "wiki.acme"),
    *("zzJalrXUtn", "bigbank", "acme.train", "acme-pretrain-v7"),
)
"""Parts that must not remain either."""


def private_texts() -> set[str]:
    """Every text that must not be in a copy."""
    return {*SECRETS.values(), *FIELD_SECRETS.values(), *FRAGMENTS}


def leaks(folder: Path) -> set[str]:
    """The private texts that are in the bytes of a folder's files or in their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    data = b"\n".join(map(unpacked, files))
    spelled = [str(path.relative_to(folder)).encode() for path in files]
    everything = b"\n".join([data, *spelled]).lower()
    return {
        text
        for text in private_texts()
        if text.lower().encode() in everything
        or json.dumps(text.lower())[1:-1].encode() in everything
    }


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def plant_in_trace(source: Path, target: Path) -> None:
    """A copy of Chrome JSON with every secret in header, metadata, keys, values, nested values."""
    document = json.loads(unpacked(source))
    is_list = isinstance(document, list)
    events = document if is_list else document["traceEvents"]
    slices = [each for each in events if isinstance(each, dict) and each.get("ph") == "X"]
    for number, secret in enumerate(SECRETS.values()):
        # New arguments and header keys only: what the importer reads must stay what it is.
        event = slices[number % len(slices)]
        event["args"] = {**(event.get("args") or {}), **_arguments(secret, number)}
    for event in events:
        if isinstance(event, dict) and event.get("name") == "process_name" and event["ph"] == "M":
            event["args"]["name"] = FIELD_SECRETS["process_name"]
    if not is_list:
        document |= FIELD_SECRETS
        document["annotations"] = {"inside": [{key: text} for key, text in SECRETS.items()]}
        document["environment"] = {"SOME_VARIABLE": "annlee", "OMP_NUM_THREADS": "8"}
    _write(target, json.dumps(document).encode())


def _arguments(secret: str, number: int) -> dict[str, Any]:
    return {
        f"note {number}": f"see {secret} there",
        f"nested {number}": {"deep": [[{"deeper": secret}], secret], secret: number},
        f"quoted {number}": f'open("{secret}")',
        f"key {secret}": number,
        **FIELD_SECRETS,
        "argv": ["run", secret],
        f"list {number}": [
            f"x={secret};",
            f"<{secret}>",
            f"a:{secret}",
            f"({secret})",
            f"{secret}.",
        ],
    }


def plant_in_names(target: Path) -> None:
    """A trace with the secrets in names of operators, ranges, frames and threads."""
    events: list[dict[str, Any]] = []
    for row, secret in enumerate(SECRETS.values()):
        for number, (category, name) in enumerate(_names(secret)):
            start = 1000 * row + 100 * number
            events.append(
                {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start,
                 "dur": 50, "args": {"Call stack": f"{secret};/home/annlee/x.py(3): f"}}
            )  # fmt: skip
        events.append(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": row + 2,
             "args": {"name": f"thread {row} ({secret})"}}
        )  # fmt: skip
    _write(target, json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())


def _names(secret: str) -> Iterator[tuple[str, str]]:
    yield "cpu_op", f"load {secret}"
    yield "user_annotation", secret
    yield "python_function", f"/home/annlee/acme-llm/train.py(12): {secret}"


def plant_in_values(value: Any) -> Any:
    """Plain values with the secrets in new entries of the outermost dict."""
    return {
        **value,
        "extra": [{"text": secret, "list": (secret, 1)} for secret in SECRETS.values()],
        "environment": {"SOME_VARIABLE": "annlee"},
        **FIELD_SECRETS,
    }


def plant_in_pickle(source: Path, target: Path) -> None:
    """A copy of a pickle that is known to be plain data."""
    value = pickle.loads(unpacked(source))
    _write(target, pickle.dumps(plant_in_values(value), protocol=4))


def plant_in_json(source: Path, target: Path) -> None:
    """A copy of a JSON document."""
    _write(target, json.dumps(plant_in_values(json.loads(unpacked(source)))).encode())


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(data) if target.name.endswith(".gz") else data)
