package domain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"herald/shared/gen/fault/textfault"
)

// maxSide is how many pixels a logo may have in width and in height.
const maxSide = 4096

// Logo is an image that pages show.
type Logo struct {
	Image     []byte
	MediaType string
}

// format is a kind of image that all browsers show and that contains no programs.
type format struct {
	mediaType string
	// is reports whether an image begins as this format does.
	is func(data []byte) bool
	// size reads the size of an image from its beginning. It decompresses nothing.
	size func(io.Reader) (image.Config, error)
	// whole reports whether an image has all its parts and nothing comes after them.
	whole func(data []byte) bool
}

var formats = []format{
	{"image/png", isPNG, png.DecodeConfig, wholePNG},
	{"image/webp", isWebP, webp.DecodeConfig, wholeWebP},
}

// ReadLogo returns the logo in data. The data must be one complete PNG or WebP image of a size that pages can show,
// with nothing after it. Otherwise ReadLogo returns ErrLogoInvalid. It does not check the pixels, because browsers do.
func ReadLogo(data []byte) (Logo, error) {
	for _, f := range formats {
		if !f.is(data) {
			continue
		}
		size, err := f.size(bytes.NewReader(data))
		switch {
		case err != nil || !f.whole(data):
			return Logo{}, textfault.ErrLogoInvalid.On("logo", "must be a whole image with nothing after it")
		case size.Width < 1 || size.Height < 1 || size.Width > maxSide || size.Height > maxSide:
			return Logo{}, textfault.ErrLogoInvalid.On("logo", "must be 1 to 4096 pixels wide and high")
		}
		return Logo{Image: data, MediaType: f.mediaType}, nil
	}
	return Logo{}, textfault.ErrLogoInvalid.On("logo", "must be a PNG or WebP image")
}

// Hash returns the SHA-256 of the image in hexadecimal digits.
func (l Logo) Hash() string {
	sum := sha256.Sum256(l.Image)
	return hex.EncodeToString(sum[:])
}

const signaturePNG = "\x89PNG\r\n\x1a\n"

func isPNG(data []byte) bool { return bytes.HasPrefix(data, []byte(signaturePNG)) }

// wholePNG follows the chunks to the last one (PNG specification, section 5.3): four bytes of length, four of type, the
// data and four of a checksum.
func wholePNG(data []byte) bool {
	const frame = 12
	data = data[len(signaturePNG):]
	for pixels := false; len(data) >= frame; {
		length, kind := uint64(binary.BigEndian.Uint32(data)), string(data[4:8])
		if length > uint64(len(data)-frame) {
			return false
		}
		data = data[frame+length:]
		switch kind {
		case "IDAT":
			pixels = true
		case "IEND":
			return pixels && len(data) == 0
		}
	}
	return false
}

func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// wholeWebP follows the chunks to the end that the image announces (RFC 9649 section 2.3): four bytes of type, four of
// length, and the data, which a zero byte makes even.
func wholeWebP(data []byte) bool {
	const frame = 8
	if uint64(binary.LittleEndian.Uint32(data[4:])) != uint64(len(data)-frame) {
		return false
	}
	data = data[12:]
	for len(data) >= frame {
		length := uint64(binary.LittleEndian.Uint32(data[4:]))
		length += length % 2
		if length > uint64(len(data)-frame) {
			return false
		}
		data = data[frame+length:]
	}
	return len(data) == 0
}
