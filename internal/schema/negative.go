package schema

import "reflect"

// Negative lists the number fields of the struct v that are below zero, by
// their names in a file and in the order of the type.
func Negative(v any) []string {
	val := reflect.ValueOf(v)
	var out []string
	for _, f := range fieldsOf(val.Type()) {
		n := val.FieldByIndex(f.index)
		if (n.CanInt() && n.Int() < 0) || (n.CanFloat() && n.Float() < 0) {
			out = append(out, f.name)
		}
	}
	return out
}
