"""Notes, keys and signatures that others have published, and a signer made of a bare seed."""

from __future__ import annotations

from memoranda.audit import keys
from memoranda.audit.keys import PublicKey, key_id
from memoranda.audit.signed_note import Signature

# What Go's package golang.org/x/mod/sumdb/note documents and tests itself with.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb"
    "6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33"
    "WWd1RvMc+QQ=\n"
)

# The checksum database of Go modules: its key, and a tree it once signed.
GO_SUM = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
GO_SUM_TREE = (
    "go.sum database tree\n"
    "49189689\n"
    "ftjbAOzaupaIvaPo/G+Dk63nxOZ2s1OPOKIaPtXs7S4=\n"
    "\n"
    "— sum.golang.org Az3grlKZssqRoMNPpZfKt0TphbbcF+pzXqElURJKRNFKfaUAgqeI5k2AORH0QAhg/ebRwyIqD/Oq"
    "P4oLtLnNumvOBAM=\n"
)


class SeedSigner:
    """Signs with a seed and a name, and keeps no file."""

    def __init__(self, name: str, seed: bytes) -> None:
        self.seed = seed
        self.public = PublicKey(name, keys.public_key(seed))

    def sign(self, text: str) -> Signature:
        result = keys.sign(self.seed, text.encode())
        return Signature(self.public.name, key_id(self.public.name, self.public.key), result)
