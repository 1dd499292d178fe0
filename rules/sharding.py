"""Sharding: a fold over an axis that is cut over ranks is a fold of local states, exchanged, under the same monoid.

It is fold.split with shares that lie in different memories: what crosses between ranks is the state of each, component
by component, and nothing else. extract/shard.py asserts these where it is asked to.
"""

from __future__ import annotations

from tang_egg.rules.fold import SHARES, SHARES_OF_A_PASS
from tang_egg.rules.law import Table

table = Table("sharding")
table.seed("sharding.local", "fold[m, j](x) = all_reduce[m, rank](fold[m, k](x[j := rank·n + k]))",
           holds="finite", rounding="reassociates", proof="Sharding.local", formal=SHARES)
table.seed("sharding.local_state", "pass[j](f, at=s, carry=t) = all_reduce[pass, rank](pass[k](f[j := rank·n + k],"
           " at=s, carry=t)), states moved by t", holds="finite", rounding="rescales", proof="Sharding.local_state",
           formal=SHARES_OF_A_PASS)
