// Command machine logs in with the key file of a machine user and prints who it is. The library gets a new token before
// one expires:
//
//	go run ./examples/machine http://localhost:8080 key.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/oauth2/jwt"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want the address of Herald and the key file, got %q", args)
	}
	instance := args[0]
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	var file struct{ KeyID, UserID, Key string }
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	config := jwt.Config{
		Email: file.UserID, Subject: file.UserID, PrivateKeyID: file.KeyID, PrivateKey: []byte(file.Key),
		Audience: instance, TokenURL: instance + "/oauth/v2/token",
		Scopes: []string{"openid", "urn:service:iam:org:project:id:service:aud"},
	}
	response, err := config.Client(ctx).Get(instance + "/auth/v1/users/me")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
