"""The joins: sides are asked, judges are told, and the record is put together."""
