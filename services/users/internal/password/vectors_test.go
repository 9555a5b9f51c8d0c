package password

import "strings"

const (
	ascii    = "correct horse"
	composed = "Zoë–straße" // in NFC
)

var long = strings.Repeat("long ", 20)

// vectors are hashes that were made by other implementations.
var vectors = []struct{ password, encoded string }{
	// Published with the schemes: Drepper's SHA-crypt specification, RFC 6070 and
	// RFC 7914 (their octets in base64), the tests of crypt_blowfish and phpass.
	{"Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"},
	{"Hello world!", "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"},
	{"Hello world!", "$6$saltstring$" +
		"svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"},
	{"Hello world!", "$6$rounds=10000$saltstringsaltst$" +
		"OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v."},
	{"password", "$pbkdf2$4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE"},
	{"passwordPASSWORDpassword", "$pbkdf2$4096$c2FsdFNBTFRzYWx0U0FMVHNhbHRTQUxUc2FsdFNBTFRzYWx0$" +
		"PS7sT+QchJuAyNg2YsDkSospGpZM8vBwOA"},
	{"pleaseletmein", "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$" +
		"cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw"},
	{"U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"},
	{"test12345", "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"},
	// Python 3.11 hashlib.pbkdf2_hmac, scrypt and sha1, base64 by passlib's rules.
	{ascii, "$pbkdf2-sha1$1000$c9qbObsT0fUt.CqE.j2FbA$UoQOM8YvbSrI8/6FcZ.aenSyGl0"},
	{ascii, "$pbkdf2$1000$c9qbObsT0fUt.CqE.j2FbA$UoQOM8YvbSrI8/6FcZ.aenSyGl0"},
	{composed, "$pbkdf2-sha1$1000$0I/ALtGhu5I8/qfJ3X2Wrg$5Dd4T.3WocRKk/liodNvS5QNYas"},
	{long, "$pbkdf2-sha1$1000$1.gY2KLRIRcTzk58zefNXw$3kmlvGZudxsrJsWXrV0gifRhCtw"},
	{ascii, "$pbkdf2-sha224$1000$3O2ELUuj.CuRLsTLYzrVqg$dH4CRH.SulIST.LtqrlW5of25NkqAiX1DXn0/Q"},
	{composed, "$pbkdf2-sha224$1000$gTEra6lML5Yih0vyftPx6Q$vPJFNg2puHvWeJ6dyKVSY0qEQpSok98WlCpAIA"},
	{long, "$pbkdf2-sha224$1000$d8DKdY1aPa.gxgjKk/WMrA$Bj0KGDEb9iMmhDZcsf8Y/q6KbcJFH2MH2GyZuw"},
	{ascii, "$pbkdf2-sha256$1000$KbMmumh6eTcShomMOZW3Wg$p2kAzzLAJCR/V3VqdOLgoByKDHJ7tB4zcCgj9J30LVw"},
	{composed, "$pbkdf2-sha256$1000$t9VoYrHe/lIBGZrV1sBSQA$kukw2BtEEzzn.RnwftAUJENYxwd6CuG.Hs38lG/mJ1Q"},
	{long, "$pbkdf2-sha256$1000$zdWrvXUe0OS1q1gIaIS1Mg$kfHXZcSu0YvAyi68Eka8bHRRIFvONj25s7ozu/qfKLM"},
	{ascii, "$pbkdf2-sha384$1000$9oYHCV/mxylimkMe5TyYEw$" +
		"vO6b95Mk10pBMprP95Wo5OF8qgM6440ka0vHwqbZAeDk0ra4VfsR6miU2xeTnWod"},
	{composed, "$pbkdf2-sha384$1000$YNCf5HhihSqv8JS9yp4FAg$" +
		"XrPkhzSs/mQQJFT2P1AjIiv97SFN4CjfIktu0lsir/oTLrOXFZq5CD90QYOXbqCA"},
	{long, "$pbkdf2-sha384$1000$czg0g3KAdCDzYB3soQ.jZw$" +
		"kT5Ej6YlyWNhK5M4b38Ca4HhK8.kqxGZjcZCx/0NdiG/mz9CBDvwo4DYbB1XQANb"},
	{ascii, "$pbkdf2-sha512$1000$YRdp.F6eVKElkdjqGrhCuQ$" +
		"UAetA/RPRISu67lzshDnNiux576SZ0yXL9K/iu4xckJ6hbGIacdp7R.baK4BJ7/6DCjRCG/TRhZ/vxCzTNz7gg"},
	{composed, "$pbkdf2-sha512$1000$wIQHQqlBiRNbkyLVHl6Pdg$" +
		"eRhWOMfY1w50QuUmWV7uZZOfWuI8cgYu9MzJ17FCsf7HmoBTIHAz8GYKaBljGmzZpq153ZDQvbXR/SnEp3dGOg"},
	{long, "$pbkdf2-sha512$1000$zZ7YmXAmZe8utkwFkAH6hA$" +
		"PubFqQMJnGYAakrjjSJwwAmM5roHZO9FVchu73NxGGjEX1ii9r4MWzPOlqg.9DzkYpYX18ROst4CAuIYK.UEfg"},
	{ascii, "$scrypt$ln=5,r=8,p=2$PLTnMmMfR+brlh80VUt83g$tPyjKL9J2RafDw1wzWW4qkz1HC3E6EKfBeKXvFaXr28"},
	{ascii, "{SSHA}tUxWqoWlgF6ODL0fj7A+SoQ1Rqg8tOcyYx9H5g=="},
	{composed, "$scrypt$ln=5,r=8,p=2$vO9seGV5w8o5DOozkNXs0Q$Uu8gqFDCK2Ghts1wyqWFv4Z001SsD8GgtlihtyZdCLg"},
	{composed, "{SSHA}xUtdkqFpnln4a3SxHU+vwTKGci6872x4ZXnDyg=="},
	{long, "$scrypt$ln=5,r=8,p=2$C3VT+qMF1U03OAO6Fb9Cxw$A7TgvDDwpB6t+0/J7S+ww8eNKBI2ViAsXupBc4Pxyps"},
	{long, "{SSHA}HaCAdCKAvaNVD5WhS+BaaXMwXCULdVP6owXVTQ=="},
	// The same in standard base64 with padding.
	{composed, "$pbkdf2-sha1$1000$0I/ALtGhu5I8/qfJ3X2Wrg==$5Dd4T+3WocRKk/liodNvS5QNYas="},
	{composed, "$pbkdf2-sha224$1000$gTEra6lML5Yih0vyftPx6Q==$vPJFNg2puHvWeJ6dyKVSY0qEQpSok98WlCpAIA=="},
	{composed, "$pbkdf2-sha256$1000$t9VoYrHe/lIBGZrV1sBSQA==$kukw2BtEEzzn+RnwftAUJENYxwd6CuG+Hs38lG/mJ1Q="},
	{composed, "$pbkdf2-sha384$1000$YNCf5HhihSqv8JS9yp4FAg==$" +
		"XrPkhzSs/mQQJFT2P1AjIiv97SFN4CjfIktu0lsir/oTLrOXFZq5CD90QYOXbqCA"},
	{composed, "$pbkdf2-sha512$1000$wIQHQqlBiRNbkyLVHl6Pdg==$" +
		"eRhWOMfY1w50QuUmWV7uZZOfWuI8cgYu9MzJ17FCsf7HmoBTIHAz8GYKaBljGmzZpq153ZDQvbXR/SnEp3dGOg=="},
	// The same in URL-safe base64.
	{composed, "$pbkdf2-sha256$1000$t9VoYrHe_lIBGZrV1sBSQA==$kukw2BtEEzzn-RnwftAUJENYxwd6CuG-Hs38lG_mJ1Q="},
	// The reference implementation: argon2 somesalt8 -t 2 -k 256 -p 2 -e.
	{ascii, "$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$L9paAfbYp97iC6VXCvr7GNcS5aQdmfSyxVi+8UjF7zs"},
	{ascii, "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$DuYtAW5V8E5sq0JboAXqZ4zigYxOxYw3gYBQMwjp7IU"},
	{composed, "$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$bh4Y1sMTJoidh14MMxedD8CJWMy18le6OjVV9vBgpXE"},
	{composed, "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$PYDlB3jmIcN9aHNcCUseqQoW+Gi3gT6X3tBvgijSXJo"},
	{long, "$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$c9LGfNLgwtkY0sQzSz6CqJmWRfYvsU5cytFT6j0c3Gw"},
	{long, "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$W/lbOxEny+i7cEZ1CpJlC5GhQoo3bVmkRI/cKzpVAQI"},
	// The same, its parameters in another order.
	{ascii, "$argon2i$v=19$p=2,m=256,t=2$c29tZXNhbHQ4$L9paAfbYp97iC6VXCvr7GNcS5aQdmfSyxVi+8UjF7zs"},
	{ascii, "$argon2id$v=19$p=2,m=256,t=2$c29tZXNhbHQ4$DuYtAW5V8E5sq0JboAXqZ4zigYxOxYw3gYBQMwjp7IU"},
	// openssl passwd -1, -5, -6 with -salt.
	{ascii, "$1$Sa1tSa1t$QGjzyiNvn1GRFDelzj2ww0"},
	{ascii, "$5$Sa1tSa1t$AOgjGRDVv83.Qqqnis.l54z1q67.HF7iuTtz7PWV6G."},
	{ascii, "$6$Sa1tSa1t$OUQUNRaDjfPObPYRoJz2RShdeGFhojNDCejhtA0H.5oEoWXtsQGxSlQVRfsOF2kzKDkVySqybtkZnLdV6EC8R."},
	{composed, "$1$Sa1tSa1t$fiLFodwGdDRsKItOsRvw.0"},
	{composed, "$5$Sa1tSa1t$iBB93c.zhjpSGDK2MAX9ToVcdhEzb4I3hQ2HuP0nKS/"},
	{composed, "$6$Sa1tSa1t$q.4YuKpnGkIur0knJB7tXdEG44KkPMKCgdnGYnCuGsUIIl9w6jwKLDEvndfeDh6QbdxdTSr8zShpeHNlo5CKw/"},
	{long, "$1$Sa1tSa1t$/UiuNZWtORet0nBDBUgZZ."},
	{long, "$5$Sa1tSa1t$Cnk7GNTXfLWv426Sr6/lTuiB3JDHgdXvNIrUSwy97YD"},
	{long, "$6$Sa1tSa1t$K5tZrzJQmrl0bh/UmMv/QVQN6qeeD6VgS.4BXqgFt07WF8NDYPru6OFXeFcl96YeiwV9UNfwi5vdziX1bqLxG/"},
	// mkpasswd -m sha256crypt, sha512crypt with -R 1234.
	{ascii, "$5$rounds=1234$sixteencharssalt$a1I5./JNjsECcTipYDzTVCTLiN0dhZ2s3AKD5iLC4BA"},
	{ascii, "$6$rounds=1234$sixteencharssalt$" +
		"qMS14tEXSIp1uyh0bL7osd1ebWxcQlO6ST0LHastB4IEKDiKizvJFafzMeSjdInaat/Dx5hfnDSYa2VOcFpcf/"},
	{composed, "$5$rounds=1234$sixteencharssalt$J9GHeOSkyIY/66HY8Wwnr/lH4TRDp05Hm9BTELSRrlB"},
	{composed, "$6$rounds=1234$sixteencharssalt$" +
		"IA41qzziU9KSs0VSHRCw6xBHak29Lmr/IR88qdj4sjQKEpYTxQ6jxKq0AcwpNYqpvXKNuiCPR3rEUywpdmTWF/"},
	{long, "$5$rounds=1234$sixteencharssalt$Wr9O4WIKXbNAh6bHFhw44hZHvy75F7XzQ2glkcIKzk3"},
	{long, "$6$rounds=1234$sixteencharssalt$" +
		"3A4pmfSN6y7kwDqb8p8QiwMnX00wN82yAh/2JybDJgyDNh6nxu6RAW7Ws4lyC2VOTfv2SgYQCNk1x/BMSgOz60"},
	// crypt(3) of libxcrypt 4.4 with a setting of each variant; 80 x are cut to 72.
	{ascii, "$2a$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"},
	{ascii, "$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"},
	{ascii, "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"},
	{composed, "$2a$04$abcdefghijklmnopqrstuu6kzJuuWkSjsbcFmBfqtrC4NaGBdwjK."},
	{composed, "$2b$05$abcdefghijklmnopqrstuu0TpE18ZL9zoYhDSIc/jWCwqKjRdY6nS"},
	{composed, "$2y$04$abcdefghijklmnopqrstuu6kzJuuWkSjsbcFmBfqtrC4NaGBdwjK."},
	{long, "$2a$04$abcdefghijklmnopqrstuuIAle5L4ue5XyAG2HTzAX6K2n8ZK1yhi"},
	{long, "$2b$05$abcdefghijklmnopqrstuuKaybsjAv8j.qAALFWEUzc6UXRxSZF2K"},
	{long, "$2y$04$abcdefghijklmnopqrstuuIAle5L4ue5XyAG2HTzAX6K2n8ZK1yhi"},
	{strings.Repeat("x", 80), "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i"},
	// htpasswd -nB -C 5 of Apache 2.4.
	{ascii, "$2y$05$EElRo6bjzXZ29/zd8YIwBu1EkilFiqqUnbos9Tuxqe4ePA2D11176"},
	{composed, "$2y$05$ge2T/lFt.c9yNKj4kndfWezGI32eFbFynvUO6.BcQAvmgqzK1y7oO"},
	{long, "$2y$05$7pENCBVfJJsvYce2yBt3YuEwNhK8rNTpf9wHBBGuQZNUwZRQ5.q8."},
	// passlib 1.7.4.
	{ascii, "$pbkdf2-sha512$1000$ACCkdK41ZsxZC4EwZkzp3Q$" +
		"Cfa39vnzYUaxlOz8Hi/6jOe1yz.g53nO8HaikrTQiGSfzuv5sEfumfdrMbfA91OiGQ2GmmuCsq.q7C/j2qFgOQ"},
	{composed, "$pbkdf2-sha512$1000$jDEmZAyBUGothbDW.j9nzA$" +
		"bmYa5o4Rhs53/Y.Yyf42vH68ygHYa/L5moViyl6fODWZQlzGlOCFeFfSW.XM12cnb2ONmGijMLowkojbCQWJ2g"},
	{ascii, "$2b$04$mjjCdamIdXqBdHpwQjEjrO6NWzq.cGPjClQ6SRko7IxLo5TvoFQS."},
	{composed, "$2b$04$RsLR9fumIUSpPJE7CvDb8OaOgM3obTAfoxqiMDAkst2Ki.mGwQrXm"},
	{ascii, "$5$rounds=1000$ZNTQD0VSE5XWXmN3$8R3ZvrbQU3lXTZoiF4V38a11c8NV/VcT6mQexDpSFQ7"},
	{composed, "$5$rounds=1000$9hiPx2PtBzZ/yeZG$g73x0qleKmfZaiQ77kVOFMoid9Vz8rOf.p3r7CgF31."},
	{ascii, "$5$fn1IjwiqDifqkfcR$oOkuhmjBDEWw9AmZyuWwarnK3V0z9oXWL6h1EBQtXNA"},
	{composed, "$5$.DQBGU1QWnRPIZhg$JDOIFcpCD2qMF8Zxa8.qgIntFtAbVklVprdL8jiHaAD"},
	{ascii, "$6$rounds=1000$A42ibhb0QbApH5jB$" +
		"//uGCn/Bqp5.FsTCtc79IV3FmRSjPlQ1Rji4yQtvp8B3i9dPgu2K07MufnJuvPciHcfhhpLUrtgXwoYGOw7gG."},
	{composed, "$6$rounds=1000$2gnwVGSnfbtxWN5w$" +
		"9nvYxsFNOv247nGWoUlxVYz/n7dOd4Ol6uDFvnyzqE.w9BqW3BzE3ypS2zJDtKU4NUQtf2d.guy2j5FLSIBmq0"},
	{ascii, "$6$nUd7GXAOdCqzAdnC$" +
		"lwG/uJE87qp3ZuJxe16y82Q40GkbzDQ2DoQ7Gn4u.pPXn9NC6NOt.ZsKMzD/ffdGxHjRjAEiG5p/tcBr.BK4x/"},
	{composed, "$6$sPK5Qp3dJb2Fj5Ac$" +
		"Pw2FW6t5k6yYtBByMSWqlSO1BBaJy0qondv01xEAN/TQaBWccmd9GE53Ep3ck.jjWirUug5olmDaBnMOYnj0D0"},
	{ascii, "$1$1C3DbNtL$ew88pPGAGPZDSyT4la/Qb."},
	{composed, "$1$i.PPcb/h$R5HqHE5F/.6IyH10J3tV1."},
	{ascii, "$P$6/NOhc2zceKbEB1/JbxGMU6BNCikl./"},
	{composed, "$P$6c9AG/ejccLbUyJv.9PLM5SotyL4NB."},
	{ascii, "$H$6E95FNZhYRu86qAn/GHzxciTgHkctn1"},
	{composed, "$H$6qucRMjCAXwdwoXrYRuFwUROfz7D9j1"},
	{ascii, "{SSHA}3hG3n3/ajxxnDXWPVMql5NLAgkbau3fu"},
	{composed, "{SSHA}OpjFl0LY+Te90bcDjR9+mNBhBjnwfk+J"},
	{ascii, "$scrypt$ln=4,r=8,p=1$wbg35hyjdG5tDaF0bk3p/Q$C895TMsaVYFgfhn6b5JrMZYpPKNfV4DGAfRgpkCDgsE"},
	{composed, "$scrypt$ln=4,r=8,p=1$sZYyhhCi9B5jLOXce29tDQ$PNLvfM7Zyqg2raWcJ32IB1TqLK2G0n6RlkeJwEm2VuE"},
	{ascii, "$argon2id$v=19$m=64,t=1,p=2$p3Qu5Xyv1Vqr1TpnbC1lbA$SX2/LHHyuMqjIiRrLx9JyQ"},
	{composed, "$argon2id$v=19$m=64,t=1,p=2$I6RUSqmVknJu7b1X6v3/nw$stBoBRy1bEsc/tm/Jwc0xw"},
	{long, "$P$5NZGRmM6VzVA9wn5Tou/ccFuqcApW71"},
	{composed, "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$ESPxPPYQ16EV5D8/eSv7kaU3KI1bOcKLMerXB5MdQNI"},
	// PHP 8.2.36: password_hash, crypt, and sha1 and hash_pbkdf2 in base64_encode.
	{ascii, "$2y$04$I5q4ODSsA6Kw.KAsp3wSA.wQU05THYM6Yz8O7uX3yQPZsry1QGM3u"},
	{ascii, "$argon2i$v=19$m=64,t=2,p=1$LktLeVMvV3dFZGtwdFpuYg$D1DD1JEqQ8QvKt5F3qVEXDWHI3SkFip9DKlVcxiQnV4"},
	{ascii, "$argon2id$v=19$m=64,t=2,p=1$cXZnN2JFZlBrZDdFMVNtZA$DH2Fw6QYM+DpbMmtFbNvdlFhlz6mfv6kihccPBoqxoc"},
	{ascii, "$1$KygDSbqp$9TNPCkDsnVc1nEateyJds0"},
	{ascii, "$5$rounds=1000$KygDSbqpwv8ix88r$YIcEbJHSS./eMLDmHT1/fUf/dC0UNyn2zt8bBBIdvl1"},
	{ascii, "$6$rounds=1000$KygDSbqpwv8ix88r$" +
		"kE2JVZvIImxX.yy3bcrGeS9kry/EAGtkfJaB.Ju3HwDRqtXOUbFLZAoVZ/ve24xgt9x2rhoxFHHDZ5wIvspMH0"},
	{ascii, "{SSHA}aHWclzyRncNfdmVxfkVQFSHaqXl8gAnk/G0C6w=="},
	{ascii, "$pbkdf2-sha1$1000$lmQtLVP6vPnwNhfi0/nRjw==$ULYJB/F4x3myIhfgvx+0ZzHAfNA="},
	{ascii, "$pbkdf2-sha224$1000$QOLdSOiDnHxePgv1Swzolg==$GFKjcwEkP195oYn+3iQ8ZlpCy3KL4sgGSonGqQ=="},
	{ascii, "$pbkdf2-sha256$1000$gxEh/O2xGuETmUvy1mQ1jw==$rfGo+JWvdlKBB9n/7RjwHHVJJxLCimVmSCrwFyz/tsI="},
	{ascii, "$pbkdf2-sha384$1000$W4M1Eiq+OAVWC075bV+ClA==$" +
		"wYlMndz0MYrIlX/oqIlFdH1BxXGc5j3J6HC2RntwIK4m1e7E0dlVul5q45eev63B"},
	{ascii, "$pbkdf2-sha512$1000$qHyuK1M+XfeVBYSMulY4NQ==$" +
		"JMgU8+Sp/tjPCBReuZhvg27zDmXbvjoOo9lcz+c3row0WhEqO7MHVcjbrGk8FF/8ggxsJFI5qM+P3sdFRrv9Sg=="},
	{composed, "$2y$04$59.PBvnaoGfUrBxO0ZkDF.0JBSfecUHsgjFKXuTfLKcV8JKBNfmse"},
	{composed, "$argon2i$v=19$m=64,t=2,p=1$RFd0dUxYMGlFbW1DcDhRRA$5eRjWiwK4nI6aH7O69N9luP8HL6L5C0Tszp9nTEhIa4"},
	{composed, "$argon2id$v=19$m=64,t=2,p=1$RHB5UWh4VVVxVVdZZ1FuLg$X/rcwuw2kkLjmE6ChYtZQFF/5dCFHdAuPohwcw4Ntu0"},
	{composed, "$1$Dz5IoDBs$VknMsOIgH8qBn8gLxjX/S1"},
	{composed, "$5$rounds=1000$Dz5IoDBsCj5z1Om9$tR15QFoODAFALCWRwLbGjliM34hKKW5Twkc/XGf5.79"},
	{composed, "$6$rounds=1000$Dz5IoDBsCj5z1Om9$" +
		"I4jDnlyYrfRo/spepdCQ3hlEKjXlpgknB8qH//95hc84Z/kYuCW3s4bD6yKr0fZn78iOvJwKJ.ffm5KFtMf8z/"},
	{composed, "{SSHA}jWedQbkjePXW6DGGypt0NO84gpsFQ9YbMsq0XQ=="},
	{composed, "$pbkdf2-sha1$1000$WO9JcOwA6ZiHigpNzCgoYA==$ScPaDzH0hdHsaZAyBdQO+5+Ap8o="},
	{composed, "$pbkdf2-sha224$1000$A74IiPzAkgKfjOe2UJ7tAQ==$uRj+R2RIRTy7gJkjIsMvkhkOfGK9HKgRUqdUgg=="},
	{composed, "$pbkdf2-sha256$1000$CoEQCtP8ARxz75VI1sd65A==$1Mzxoy26lCOwZUtnsfvIjHGGEBGurbPFilYx+wm4UTE="},
	{composed, "$pbkdf2-sha384$1000$WGLAiMnjwmEIez4wQusSUg==$" +
		"7R/BcIEHW/KSK5kCEd4xvONkNALz93C5+u/hUrQ1zhtfccXDjIaaAI1DqO76uxCM"},
	{composed, "$pbkdf2-sha512$1000$3uoRs/WxOtJvvH1Cg/gWVQ==$" +
		"KrJsDT90AIg4KmxyD41Naxqv7JyEClp+SrgsEgs3aTvDZgozynwU76OnCgDb4Ci6BNhoQ3oQ9OzkUOjkJcKCxg=="},
	{long, "$2y$04$qxDcJQYv1RlC/mIGBueeyurQVH8r7kCZa8z4/8GfqIhbrG/fjPSu."},
	{long, "$argon2i$v=19$m=64,t=2,p=1$MW1hQTJFZXdGMVBGck0zNw$SbTTTM1ynOZgnGfimuEe9fkXGOFZaYi+kDcRT8uuWmI"},
	{long, "$argon2id$v=19$m=64,t=2,p=1$eTNQYnBKRE02NDBESUdNZA$LEtNUukANtPJDuc3bxdgDGdGUquEgPypK0lIoxTcDu0"},
	// perl -e 'print crypt(…)'.
	{ascii, "$1$perlsalt$t5zn/gBd0DSKLJ7ZO5pkU1"},
}

// limited has hashes by passlib 1.7.4 of passwords of this many x.
var limited = []map[int]string{
	{
		512: "$1$yB3WpKQ9$MkpoclvHCIQI3fuNyqrge0",
		513: "$1$QSe0ioK5$MjOFrubkSR4hmQxh1OVAq0",
	},
	{
		512: "$5$rounds=1000$6OEZiM9HmEIjCk1i$.GNKzkKDEE2HfI6Jw.XL9Gwtxkv16iscMHZNiNRdz/9",
		513: "$5$rounds=1000$CUyFWjgLslA42A9r$U2eH1RCytj5fxWBraf1TAYwaRIul2i3WJdFsII5pro/",
	},
	{
		512: "$6$rounds=1000$FsiFDSMlL/FmoN1F$" +
			"kGPb0tD/glFdildBNr71Yiba1S.kYioM0.UWHUDyp0RG6hvHWaVlattd2gAhi.coJnRpjJ.JziLlK9YsMg2k51",
		513: "$6$rounds=1000$WNkRZHpL8LJZ5EcI$" +
			"dtXTAW4ecM1kvT3JQNlxD894EaQFVMvspfJVLZJ8shZd2W6bKGqHW9ukl9CA0nPh06xcyjYcQ4z.j8tc6CMTS.",
	},
	{
		512: "$P$5YDabQGF3BeLJCerH1ngIdHqGkQMi9/",
		513: "$P$5iKbnBIaDjibqECSypnX185ZBp1yYq0",
	},
}
