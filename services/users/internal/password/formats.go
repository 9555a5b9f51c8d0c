package password

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
)

// format is an accepted format. Its read function gets the text after the prefix, which is
// printable ASCII. The returned scheme is valid only if the reader has no error.
type format struct {
	prefix string
	name   string
	read   func(*reader) scheme
}

// formats is constant. No prefix is the beginning of another one.
var formats = []format{
	{"$argon2id$", "argon2id", argon2Reader(true)},
	{"$argon2i$", "argon2i", argon2Reader(false)},
	{"$2a$", "bcrypt", readBcrypt},
	{"$2b$", "bcrypt", readBcrypt},
	{"$2y$", "bcrypt", readBcrypt},
	{"$scrypt$", "scrypt", readScrypt},
	{"$pbkdf2$", "pbkdf2-sha1", pbkdf2Reader(sha1.New)},
	{"$pbkdf2-sha1$", "pbkdf2-sha1", pbkdf2Reader(sha1.New)},
	{"$pbkdf2-sha224$", "pbkdf2-sha224", pbkdf2Reader(sha256.New224)},
	{"$pbkdf2-sha256$", "pbkdf2-sha256", pbkdf2Reader(sha256.New)},
	{"$pbkdf2-sha384$", "pbkdf2-sha384", pbkdf2Reader(sha512.New384)},
	{"$pbkdf2-sha512$", "pbkdf2-sha512", pbkdf2Reader(sha512.New)},
	{"$5$", "sha256-crypt", shaCryptReader(sha256.New)},
	{"$6$", "sha512-crypt", shaCryptReader(sha512.New)},
	{"$1$", "md5-crypt", readMD5Crypt},
	{"$P$", "phpass", readPHPass},
	{"$H$", "phpass", readPHPass},
	{"{SSHA}", "ssha", readSSHA},
}
