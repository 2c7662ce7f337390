// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate returns what the API server would not accept in an object, as far as Kubernetes publishes its validation:
// names, labels, annotations, selectors, ports, variables. The rest of a pod's validation is in k8s.io/kubernetes,
// which takes too long to compile for each commit; the rules of it that our pods could break are written here once
// more, and test/apiserver asks a real server each week.
func validate(object runtime.Object) field.ErrorList {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	isNamespaced := true
	switch object.(type) {
	case *corev1.Namespace, *storagev1.CSIDriver:
		isNamespaced = false
	}
	errs := apivalidation.ValidateObjectMetaAccessor(accessor, isNamespaced, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	switch object := object.(type) {
	case *appsv1.DaemonSet:
		spec := field.NewPath("spec")
		errs = append(errs, metav1validation.ValidateLabelSelector(object.Spec.Selector,
			metav1validation.LabelSelectorValidationOptions{}, spec.Child("selector"))...)
		if selector := labels.SelectorFromSet(object.Spec.Selector.MatchLabels); selector.Empty() ||
			!selector.Matches(labels.Set(object.Spec.Template.Labels)) {
			errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), object.Spec.Template.Labels,
				"the selector does not match"))
		}
		template := spec.Child("template")
		errs = append(errs, metav1validation.ValidateLabels(object.Spec.Template.Labels,
			template.Child("metadata", "labels"))...)
		errs = append(errs, apivalidation.ValidateAnnotations(object.Spec.Template.Annotations,
			template.Child("metadata", "annotations"))...)
		errs = append(errs, validatePod(object.Spec.Template.Spec, corev1.RestartPolicyAlways, template.Child("spec"))...)
	case *corev1.Pod:
		errs = append(errs, validatePod(object.Spec, corev1.RestartPolicyNever, field.NewPath("spec"))...)
	case *corev1.ConfigMap:
		for key := range object.Data {
			errs = append(errs, invalid(field.NewPath("data"), key, validation.IsConfigMapKey(key))...)
		}
	}
	return errs
}

func validatePod(pod corev1.PodSpec, restart corev1.RestartPolicy, path *field.Path) (errs field.ErrorList) {
	if got := pod.RestartPolicy; got != restart && got != "" {
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), got, []corev1.RestartPolicy{restart}))
	}
	if pod.PriorityClassName != "" {
		errs = append(errs, invalid(path.Child("priorityClassName"), pod.PriorityClassName,
			apivalidation.NameIsDNSSubdomain(pod.PriorityClassName, false))...)
	}
	errs = append(errs, invalid(path.Child("serviceAccountName"), pod.ServiceAccountName,
		apivalidation.NameIsDNSSubdomain(pod.ServiceAccountName, false))...)
	errs = append(errs, metav1validation.ValidateLabels(pod.NodeSelector, path.Child("nodeSelector"))...)
	for i, toleration := range pod.Tolerations {
		if toleration.Operator == corev1.TolerationOpExists && toleration.Value != "" || toleration.Key == "" &&
			toleration.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(path.Child("tolerations").Index(i), toleration,
				"Exists has no value, and only Exists has no key"))
		}
	}
	volumes := map[string]bool{}
	for i, volume := range pod.Volumes {
		errs = append(errs, once(path.Child("volumes").Index(i).Child("name"), volume.Name, volumes)...)
	}
	names, hostPorts := map[string]bool{}, map[string]bool{}
	for i, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		at := path.Child("containers").Index(i) // the init containers first
		errs = append(errs, once(at.Child("name"), container.Name, names)...)
		errs = append(errs, validateContainer(pod, container, volumes, hostPorts, at)...)
	}
	if hostProcess(pod) {
		// Windows' HostProcess pods: every container is one, on the host's network.
		if !pod.HostNetwork || pod.SecurityContext.WindowsOptions.RunAsUserName == nil {
			errs = append(errs, field.Invalid(path.Child("hostNetwork"), pod.HostNetwork,
				"HostProcess needs the host's network and a user"))
		}
		if pod.SecurityContext.RunAsUser != nil || pod.SecurityContext.FSGroup != nil || pod.HostPID || pod.HostIPC {
			errs = append(errs, field.Forbidden(path.Child("securityContext"), "not on Windows"))
		}
	}
	return errs
}

func validateContainer(pod corev1.PodSpec, container corev1.Container, volumes, hostPorts map[string]bool,
	at *field.Path) (errs field.ErrorList) {
	ports, variables, mounts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, port := range container.Ports {
		at := at.Child("ports").Index(i)
		errs = append(errs, invalid(at.Child("name"), port.Name, validation.IsValidPortName(port.Name))...)
		errs = append(errs, once(at.Child("name"), port.Name, ports)...)
		errs = append(errs, invalid(at.Child("containerPort"), port.ContainerPort,
			validation.IsValidPortNum(int(port.ContainerPort)))...)
		if pod.HostNetwork && port.HostPort != port.ContainerPort {
			errs = append(errs, field.Invalid(at.Child("hostPort"), port.HostPort,
				"must be the container's on the host's network"))
		}
		if number := fmt.Sprint(port.HostPort, port.Protocol); port.HostPort != 0 {
			if hostPorts[number] {
				errs = append(errs, field.Duplicate(at.Child("hostPort"), number))
			}
			hostPorts[number] = true
		}
	}
	for i, variable := range container.Env {
		at := at.Child("env").Index(i)
		errs = append(errs, invalid(at.Child("name"), variable.Name, validation.IsEnvVarName(variable.Name))...)
		if variables[variable.Name] { // accepted, but the last one wins in silence
			errs = append(errs, field.Duplicate(at.Child("name"), variable.Name))
		}
		variables[variable.Name] = true
		if variable.Value != "" && variable.ValueFrom != nil {
			errs = append(errs, field.Invalid(at.Child("valueFrom"), "", "beside a value"))
		}
	}
	for i, mount := range container.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		if !volumes[mount.Name] {
			errs = append(errs, field.NotFound(at.Child("name"), mount.Name))
		}
		if mount.MountPath == "" || mounts[mount.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), mount.MountPath, "must be unique"))
		}
		mounts[mount.MountPath] = true
	}
	for name, request := range container.Resources.Requests {
		if limit, ok := container.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("resources", "requests").Key(string(name)), request.String(),
				"more than the limit"))
		}
	}
	for name, probe := range map[string]*corev1.Probe{"startupProbe": container.StartupProbe,
		"livenessProbe": container.LivenessProbe, "readinessProbe": container.ReadinessProbe} {
		if probe != nil && (probe.HTTPGet == nil) == (probe.Exec == nil) {
			errs = append(errs, field.Invalid(at.Child(name), "", "needs one way to ask"))
		}
	}
	return errs
}

// once checks a name in a list of things with different names.
func once(at *field.Path, name string, names map[string]bool) field.ErrorList {
	errs := invalid(at, name, validation.IsDNS1123Label(name))
	if names[name] {
		errs = append(errs, field.Duplicate(at, name))
	}
	names[name] = true
	return errs
}

func invalid(at *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(at, value, message))
	}
	return errs
}
