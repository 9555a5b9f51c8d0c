package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// register makes a project and an application in it. In real life somebody does this once, and the application gets its
// client id and secret as settings.
func register(ctx context.Context, issuer, token, own string) (id, secret string, err error) {
	name := "Example of " + time.Now().Format("2006-01-02 15:04:05.000")
	var project struct{ ID string }
	if err := post(ctx, issuer+"/management/v1/projects", token, map[string]any{"name": name}, &project); err != nil {
		return "", "", err
	}
	var app struct{ ClientID, ClientSecret string }
	err = post(ctx, issuer+"/management/v1/projects/"+project.ID+"/apps/oidc", token, map[string]any{
		"name": "Example", "redirectUris": []string{own + "/callback"}, "postLogoutRedirectUris": []string{own + "/"},
	}, &app)
	return app.ClientID, app.ClientSecret, err
}

// post sends a JSON request to Herald and reads the answer.
func post(ctx context.Context, address, token string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", address, response.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}
