package schema

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/assaybot/assay/internal/assay"
)

// binder fills Go values from nodes and collects every fault on the way.
type binder struct {
	file string
	ps   assay.Problems
}

func bindRoot(file string, n *node, into any) assay.Problems {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("schema: decoding into %T, which is no pointer", into))
	}
	b := &binder{file: file}
	if b.foreign(n, v.Elem().Type()) {
		return b.ps
	}
	b.bind(n, v.Elem(), "")
	return b.ps.Sorted()
}

// foreign tells, with a problem, of a document that another version of the
// schema wrote; its other faults would be noise.
func (b *binder) foreign(n *node, t reflect.Type) bool {
	want := schemaNumber(t)
	m, ok := n.get("schema")
	if want == 0 || !ok || m.value.kind != number || m.value.text == strconv.Itoa(want) {
		return false
	}
	b.faultf(m.value.line, "schema %s is unknown; this version of assay reads schema %d", m.value.text, want)
	return true
}

func (b *binder) faultf(line int, format string, args ...any) {
	b.ps.Addf(b.file, line, format, args...)
}

// wrong says that n isn't what stands at where.
func (b *binder) wrong(n *node, where, want string) {
	b.faultf(n.line, "%s is %s; it must be %s", place(where), n.describe(), want)
}

func (n *node) describe() string {
	switch n.kind {
	case text:
		return "the text " + n.show()
	case number:
		return "the number " + n.text
	}
	return n.show()
}

func place(where string) string {
	if where == "" {
		return "the document"
	}
	return where
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

func (b *binder) bind(n *node, v reflect.Value, where string) {
	if n.kind == null && nullable(v.Kind()) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		b.bind(n, v.Elem(), where)
		return
	}
	if ok, objectToo := fromText(v.Type()); ok && (!objectToo || n.kind != object) {
		b.bindText(n, v, where, objectToo)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		b.bindStruct(n, v, where)
	case reflect.Slice:
		b.bindSlice(n, v, where)
	case reflect.Map:
		b.bindMap(n, v, where)
	case reflect.Interface:
		b.bindAny(n, v, where)
	default:
		b.bindScalar(n, v, where)
	}
}

func nullable(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Slice || k == reflect.Map || k == reflect.Interface
}

// bindText decodes a value that reads itself from a text, such as a time.
func (b *binder) bindText(n *node, v reflect.Value, where string, objectToo bool) {
	want := "text"
	if objectToo {
		want = "text or an object"
	}
	if n.kind != text {
		b.wrong(n, where, want)
		return
	}
	u, _ := v.Addr().Interface().(encoding.TextUnmarshaler)
	if err := u.UnmarshalText([]byte(n.text)); err != nil {
		b.faultf(n.line, "%s is the text %s: %s", place(where), n.show(), err)
	}
}

func (b *binder) bindStruct(n *node, v reflect.Value, where string) {
	if n.kind != object {
		b.wrong(n, where, "an object")
		return
	}
	fs := fieldsOf(v.Type())
	byName := make(map[string]field, len(fs))
	for _, f := range fs {
		byName[f.name] = f
	}
	seen := b.duplicates(n, where)
	for _, m := range n.fields {
		f, ok := byName[m.name]
		if !ok {
			b.unknown(m, where, names(fs))
			continue
		}
		b.bind(m.value, v.FieldByIndex(f.index), join(where, m.name))
	}
	for _, f := range fs {
		if f.required && seen[f.name] == 0 {
			b.missing(n, f, where)
		}
	}
}

func (b *binder) unknown(m member, where string, known []string) {
	in := ""
	if where != "" {
		in = " in " + where
	}
	b.faultf(m.line, "unknown field %s%s%s", quote(m.name), in, Hint(m.name, known))
}

func (b *binder) missing(n *node, f field, where string) {
	if where == "" {
		b.faultf(n.line, "the field %q is missing", f.name)
		return
	}
	b.faultf(n.line, "the field %q of %s is missing", f.name, where)
}

// duplicates reports keys that stand twice and returns the line of each
// key's first place.
func (b *binder) duplicates(n *node, where string) map[string]int {
	seen := make(map[string]int, len(n.fields))
	for _, m := range n.fields {
		first, again := seen[m.name]
		if again {
			b.faultf(m.line, "the field %s stands twice; it is on line %d already", quote(join(where, m.name)), first)
			continue
		}
		seen[m.name] = m.line
	}
	return seen
}

func (b *binder) bindSlice(n *node, v reflect.Value, where string) {
	if n.kind != array {
		b.wrong(n, where, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		b.bind(item, out.Index(i), fmt.Sprintf("%s[%d]", where, i))
	}
	v.Set(out)
}

func (b *binder) bindMap(n *node, v reflect.Value, where string) {
	if n.kind != object {
		b.wrong(n, where, "an object")
		return
	}
	b.duplicates(n, where)
	out := reflect.MakeMapWithSize(v.Type(), len(n.fields))
	for _, m := range n.fields {
		value := reflect.New(v.Type().Elem()).Elem()
		b.bind(m.value, value, join(where, m.name))
		out.SetMapIndex(reflect.ValueOf(m.name).Convert(v.Type().Key()), value)
	}
	v.Set(out)
}

// bindAny fills an interface with what encoding/json would: maps, slices,
// strings, float64s, bools.
func (b *binder) bindAny(n *node, v reflect.Value, where string) {
	var to reflect.Value
	switch n.kind {
	case object:
		to = reflect.ValueOf(new(map[string]any))
	case array:
		to = reflect.ValueOf(new([]any))
	case text:
		to = reflect.ValueOf(new(string))
	case number:
		to = reflect.ValueOf(new(float64))
	default:
		to = reflect.ValueOf(new(bool))
	}
	b.bind(n, to.Elem(), where)
	v.Set(to.Elem())
}

func (b *binder) bindScalar(n *node, v reflect.Value, where string) {
	switch v.Kind() {
	case reflect.String:
		b.bindString(n, v, where)
	case reflect.Bool:
		if n.kind != boolean {
			b.wrong(n, where, "true or false")
			return
		}
		v.SetBool(n.text == "true")
	case reflect.Float64, reflect.Float32:
		b.bindFloat(n, v, where)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b.bindInt(n, v, where)
	default:
		panic(fmt.Sprintf("schema: %s has the type %s, which files can't hold", where, v.Type()))
	}
}

func (b *binder) bindString(n *node, v reflect.Value, where string) {
	switch n.kind {
	case text:
	case number, boolean:
		b.wrong(n, where, fmt.Sprintf("text: put it in quotes (%q)", n.text))
		return
	default:
		b.wrong(n, where, "text")
		return
	}
	if words := wordsOf(v.Type()); words != nil && !contains(words, n.text) {
		b.faultf(n.line, "%s %s is unknown%s", place(where), n.show(), hintOrList(n.text, words))
		return
	}
	v.SetString(n.text)
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

func hintOrList(word string, of []string) string {
	if h := Hint(word, of); h != "" {
		return h
	}
	list := "; known are "
	for i, w := range of {
		if i > 0 {
			list += ", "
		}
		list += w
	}
	return list
}

func (b *binder) bindInt(n *node, v reflect.Value, where string) {
	if n.kind != number {
		b.wrong(n, where, "a whole number")
		return
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && v.OverflowInt(i):
		b.faultf(n.line, "%s is %s, which is too large", place(where), quote(n.text))
	case err != nil:
		b.wrong(n, where, "a whole number")
	default:
		v.SetInt(i)
	}
}

func (b *binder) bindFloat(n *node, v reflect.Value, where string) {
	if n.kind != number {
		b.wrong(n, where, "a number")
		return
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		b.faultf(n.line, "%s is %s, which is no usable number", place(where), quote(n.text))
		return
	}
	v.SetFloat(f)
}
