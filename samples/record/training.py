"""A plain training, with nothing of a profiler in it, to try what records programs:

torch-tb-profiler record --steps 20:22 -- python samples/record/training.py
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

IMAGES, SIDE = 640, 32


class Photos(Dataset):
    """Made-up photos, as slow to decode as real ones are."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def transform(self, photo):
        for _ in range(2):
            photo = nn.functional.interpolate(photo[None], SIDE * 8, mode="bicubic")[0]
        return nn.functional.interpolate(photo[None], SIDE)[0]

    def __getitem__(self, index):
        photo = torch.rand(3, SIDE * 4, SIDE * 4, generator=torch.Generator().manual_seed(index))
        return self.transform(photo), index % 10


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * (SIDE // 4) ** 2, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    loader = DataLoader(Photos(IMAGES), batch_size=16, num_workers=2, persistent_workers=True)
    checks = DataLoader(Photos(IMAGES // 8), batch_size=16)
    for epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        with torch.no_grad():
            right = sum(
                (model(images).argmax(1) == labels).sum().item() for images, labels in checks
            )
        print(f"epoch {epoch}: {right / (IMAGES // 8):.0%} right")


if __name__ == "__main__":
    main()
