package secret

import (
	"encoding/json"
	"fmt"
	"time"
)

// KeyFile is the file from which a machine user or an application reads its key.
type KeyFile struct {
	Type           string    `json:"type"`
	KeyID          string    `json:"keyId"`
	ExpirationDate time.Time `json:"expirationDate"`
	// UserID is empty in the file of an application, AppID and ClientID in that of a machine user.
	UserID   string `json:"userId,omitempty"`
	AppID    string `json:"appId,omitempty"`
	ClientID string `json:"clientId,omitempty"`
}

// With returns the file in JSON with the private key. The key is empty if the caller has it already.
func (f KeyFile) With(private Text) ([]byte, error) {
	text, err := json.Marshal(struct {
		KeyFile
		Key string `json:"key,omitempty"`
	}{f, private.Reveal()})
	if err != nil {
		return nil, fmt.Errorf("write a key file: %w", err)
	}
	return text, nil
}
