// Command kubernetes builds an overlay of deploy/cluster/kustomize as kubectl does, and prints its objects as a JSON
// array. It refuses an object with a field that Kubernetes does not know, or with a value of another type.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds are the kinds of objects that an overlay may have.
func kinds() map[string]any {
	return map[string]any{
		"apps/v1 Deployment": &appsv1.Deployment{}, "batch/v1 Job": &batchv1.Job{},
		"policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "v1 ConfigMap": &corev1.ConfigMap{},
		"v1 Service": &corev1.Service{}, "networking.k8s.io/v1 Ingress": &networkingv1.Ingress{},
		"networking.k8s.io/v1 NetworkPolicy": &networkingv1.NetworkPolicy{},
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes OVERLAY")
		os.Exit(2)
	}
	objects, err := build(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(objects)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build returns the objects of an overlay.
func build(overlay string) (objects []any, err error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, err
	}
	for _, r := range built.Resources() {
		object, err := decode(r)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func decode(r *resource.Resource) (any, error) {
	object, known := kinds()[r.GetApiVersion()+" "+r.GetKind()]
	if !known {
		return nil, fmt.Errorf("kind %s of %s is not in the list of this program", r.GetKind(), r.GetApiVersion())
	}
	text, err := r.AsYAML()
	if err != nil {
		return nil, err
	}
	return object, yaml.UnmarshalStrict(text, object)
}
