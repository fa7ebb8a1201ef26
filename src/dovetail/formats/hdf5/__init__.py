"""Files of HDF5, read without its library, which crashes on damaged files.

The reader knows what Keras and h5py write: groups with names, attributes of numbers and strings, arrays in one piece or
in compressed chunks.  Sizes and addresses are checked before memory is taken.

Source: the HDF5 file format specification, version 3.0.
"""

from dovetail.formats.hdf5.tree import Array as Array
from dovetail.formats.hdf5.tree import Group as Group
from dovetail.formats.hdf5.tree import is_file as is_file
from dovetail.formats.hdf5.tree import read as read
