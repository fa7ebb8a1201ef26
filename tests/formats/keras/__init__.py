from pathlib import Path

FOLDERS = Path(__file__).parent / "folders"  # Keras 2's, made by keras2_folders.py
