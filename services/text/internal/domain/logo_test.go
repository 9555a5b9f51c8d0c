package domain

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
)

// pngOf returns an image of a size.
func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// resized returns a PNG image that says that it has another size.
func resized(data []byte, width, height uint32) []byte {
	data = slices.Clone(data)
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// withChunk returns a PNG image with another chunk after its header.
func withChunk(data []byte, kind, content string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	chunk = append(append(chunk, kind...), content...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return slices.Insert(slices.Clone(data), 33, chunk...)
}

// webpOf are the smallest images of the three kinds of WebP: lossless, lossy, and extended with transparency.
func webpOf(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for kind, text := range map[string]string{
		"lossless": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
		"lossy":    "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
		"extended": "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAA" +
			"AP4AAA3AAP7mtQAAAA==",
	} {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		all[kind] = data
	}
	return all
}

func TestWholeImagesAreLogos(t *testing.T) {
	t.Parallel()
	small := pngOf(t, 3, 2)
	for name, data := range map[string][]byte{
		"small": small, "a side of 4096": pngOf(t, 4096, 1),
		"with a text": withChunk(small, "tEXt", "Title\x00<script>"),
	} {
		t.Run(name, func(t *testing.T) {
			if l, err := ReadLogo(data); err != nil || l.MediaType != "image/png" || !bytes.Equal(l.Image, data) {
				t.Errorf("PNG, %s: %s, %v", name, l.MediaType, err)
			}
		})
	}
	for name, data := range webpOf(t) {
		if l, err := ReadLogo(data); err != nil || l.MediaType != "image/webp" || !bytes.Equal(l.Image, data) {
			t.Errorf("WebP, %s: %s, %v", name, l.MediaType, err)
		}
	}
	if a, b := (Logo{Image: small}), (Logo{Image: []byte{}}); len(a.Hash()) != 64 || a.Hash() == b.Hash() {
		t.Errorf("hashes %s and %s", a.Hash(), b.Hash())
	}
}

// A file is refused, with a reason, if it is not an image, is incomplete, or has something after the image.
func TestOtherFilesAreNotLogos(t *testing.T) {
	t.Parallel()
	const (
		other   = "must be a PNG or WebP image"
		unwhole = "must be a whole image with nothing after it"
		size    = "must be 1 to 4096 pixels wide and high"
	)
	small, svg := pngOf(t, 3, 2), `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	var asJPEG, asGIF bytes.Buffer
	drawn := image.NewGray(image.Rect(0, 0, 1, 1))
	if err := errors.Join(jpeg.Encode(&asJPEG, drawn, nil), gif.Encode(&asGIF, drawn, nil)); err != nil {
		t.Fatal(err)
	}
	webp := webpOf(t)
	wide := slices.Clone(webp["extended"])
	wide[25] = 0x10 // the width less one, in three bytes: 4097
	grown := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(webp["lossless"])-8+len(svg)))
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"nothing":                 {"", other},
		"SVG":                     {svg, other},
		"SVG with a header":       {`<?xml version="1.0"?>` + svg, other},
		"HTML":                    {"<!DOCTYPE html><script>alert(1)</script>", other},
		"JPEG":                    {asJPEG.String(), other},
		"GIF":                     {asGIF.String(), other},
		"GIF that is a script":    {"GIF89a=1;alert(1)", other},
		"RIFF of sound":           {"RIFF\x04\x00\x00\x00WAVE", other},
		"a PNG after HTML":        {"<script>alert(1)</script>" + string(small), other},
		"a PNG without signature": {string(small[8:]), other},
		"only the signature":      {string(small[:8]), unwhole},
		"HTML after a signature":  {string(small[:8]) + "<!DOCTYPE html><script>alert(1)</script>", unwhole},
		"only the header":         {string(small[:33]), unwhole},
		"no pixels":               {string(small[:33]) + string(small[len(small)-12:]), unwhole},
		"no end":                  {string(small[:len(small)-12]), unwhole},
		"cut off":                 {string(small[:len(small)-1]), unwhole},
		"PNG with HTML after it":  {string(small) + "<script>alert(1)</script>", unwhole},
		"PNG with a ZIP after it": {string(small) + "PK\x05\x06" + strings.Repeat("\x00", 18), unwhole},
		"PNG with a chunk of 4 GB": {string(small[:33]) + "\xff\xff\xff\xffIDAT" + string(small[33:]),
			unwhole},
		"PNG of no width":           {string(resized(small, 0, 2)), unwhole},
		"PNG of no height":          {string(resized(small, 3, 0)), unwhole},
		"PNG too wide":              {string(resized(small, 4097, 1)), size},
		"PNG too high":              {string(resized(small, 1, 4097)), size},
		"PNG of a million a side":   {string(resized(small, 1e6, 1e6)), size},
		"PNG of two billion a side": {string(resized(small, 1<<31-1, 1<<31-1)), unwhole},
		"PNG of a negative width":   {string(resized(small, 1<<31, 1)), unwhole},
		"WebP too wide":             {string(wide), size},
		"WebP cut off":              {string(webp["lossless"][:20]), unwhole},
		"WebP with HTML after it":   {string(webp["lossless"]) + svg, unwhole},
		"WebP that announces what is no chunk": {string(grown) + string(webp["lossless"][8:]) + svg,
			unwhole},
		"WebP without chunks": {"RIFF\x04\x00\x00\x00WEBP", unwhole},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadLogo([]byte(c.data))
			want := []fault.Field{{Path: "logo", Reason: c.want}}
			if !errors.Is(err, textfault.ErrLogoInvalid) || !slices.Equal(fault.From(err).Fields, want) {
				t.Errorf("%+v", err)
			}
		})
	}
	for kind, data := range webp {
		for n := range data {
			if _, err := ReadLogo(data[:n]); err == nil {
				t.Errorf("the first %d bytes of a %s WebP image are a logo", n, kind)
			}
		}
	}
}

// Accepted data are one image of a size that pages can show, with nothing after it.
func FuzzLogo(f *testing.F) {
	small := pngOf(f, 3, 2)
	f.Add(small)
	f.Add(resized(small, 5000, 1))
	f.Add(withChunk(small, "tEXt", "Title\x00<script>"))
	for _, data := range webpOf(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ReadLogo(data)
		if err != nil {
			if !errors.Is(err, textfault.ErrLogoInvalid) {
				t.Fatal(err)
			}
			return
		}
		begins := map[string]string{"image/png": "\x89PNG\r\n\x1a\n", "image/webp": "RIFF"}[l.MediaType]
		if begins == "" || !bytes.HasPrefix(data, []byte(begins)) {
			t.Errorf("%q is %q", data, l.MediaType)
		}
		for _, changed := range [][]byte{append(slices.Clone(data), 'x'), data[:len(data)-1]} {
			if _, err := ReadLogo(changed); err == nil {
				t.Errorf("%d bytes are a logo, and so are %d", len(data), len(changed))
			}
		}
	})
}
