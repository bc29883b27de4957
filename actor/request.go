package actor

import (
	"reflect"
	"unsafe"
)

// droppable is a Reply of whatever type.
type droppable interface{ drop(err error) }

// failRequest fails the request in m, if m is one: asks among dead letters end at once. The message is a user's type that has a
// Reply in some field, so it is looked for by reflection, which only those messages pay that nobody handles.
func failRequest(m any, err error) {
	if m == nil {
		return
	}
	v := reflect.ValueOf(m)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	if !v.CanAddr() {
		addressable := reflect.New(v.Type()).Elem()
		addressable.Set(v)
		v = addressable
	}
	dropReplies(v, err)
}

var replyType = reflect.TypeFor[droppable]()

// dropReplies looks through an addressable struct and the structs in it.
func dropReplies(v reflect.Value, err error) {
	if v.Type().Implements(replyType) {
		v.Interface().(droppable).drop(err)
		return
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Struct {
			continue
		}
		// Reflection does not hand out unexported fields; a Reply in one is to fail all the same, and is only read here.
		f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		dropReplies(f, err)
	}
}
