package github

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
)

// item is a member of a connection. Its key is its place in the order, as a
// text that sorts; a cursor is a key, so that a cursor stays good when items
// come and go, as GitHub's do.
type item struct {
	key string
	val any // *node, refusal or nil
}

// numbered gives items the order in which they stand.
func numbered[T any](all []T, f func(T) any) []item {
	out := make([]item, len(all))
	for i, v := range all {
		out[i] = item{fmt.Sprintf("%09d", i), f(v)}
	}
	return out
}

// connection is a page of items. A page without a size, or with one above
// 100, is refused.
func connection(kind string, a args, items []item) any {
	first, hasFirst := a.integer("first")
	last, hasLast := a.integer("last")
	switch {
	case !hasFirst && !hasLast:
		return refusal{"MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the connection."}
	case first > 100 || last > 100:
		return refusal{"EXCESSIVE_PAGINATION", "Requesting more than 100 records on the connection exceeds the `first` limit of 100 records."}
	}
	rest := after(items, a.str("after"))
	cut := len(rest)
	from := 0
	if hasFirst {
		cut = min(first, len(rest))
	} else {
		from = max(0, len(rest)-last)
	}
	return pageNode(kind, len(items), rest[from:cut], cut < len(rest))
}

func pageNode(kind string, total int, some []item, more bool) *node {
	values, edges, end := make([]any, len(some)), make([]any, len(some)), any(nil)
	for i, it := range some {
		values[i] = it.val
		edges[i] = &node{kind: kind + "Edge", fields: map[string]func(args) any{"node": is(it.val), "cursor": is(cursor(it.key))}}
		end = cursor(it.key)
	}
	info := &node{kind: "PageInfo", fields: map[string]func(args) any{
		"hasNextPage": is(more), "endCursor": is(end), "hasPreviousPage": is(false), "startCursor": is(nil),
	}}
	return &node{kind: kind + "Connection", fields: map[string]func(args) any{
		"totalCount": is(total), "nodes": is(values), "edges": is(edges), "pageInfo": is(info),
	}}
}

func cursor(key string) string {
	return base64.StdEncoding.EncodeToString([]byte("cursor:" + key))
}

// after are the items behind a cursor, by key and not by place.
func after(items []item, at string) []item {
	data, err := base64.StdEncoding.DecodeString(at)
	if at == "" || err != nil {
		return items
	}
	key := string(data[min(len("cursor:"), len(data)):])
	down := len(items) > 1 && items[0].key > items[1].key
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool {
		if down {
			return it.key >= key
		}
		return it.key <= key
	})
}

// ordered sorts items by the field that the query's orderBy names.
func ordered(a args, threads []*Thread, f func(*Thread) any) []item {
	by, _ := a["orderBy"].(map[string]any)
	when := func(t *Thread) time.Time { return t.Created }
	if by["field"] == "UPDATED_AT" {
		when = func(t *Thread) time.Time { return t.Updated }
	}
	out := make([]item, len(threads))
	for i, t := range threads {
		out[i] = item{fmt.Sprintf("%020d|%09d", when(t).Unix(), t.Number), f(t)}
	}
	slices.SortFunc(out, func(a, b item) int {
		if by["direction"] == "DESC" {
			a, b = b, a
		}
		return cmp.Compare(a.key, b.key)
	})
	return out
}
