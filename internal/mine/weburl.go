package mine

import "strings"

// Slug is the "owner/name" of a repository's web address, "" for none.
func Slug(url string) string {
	_, rest, ok := strings.Cut(WebURL(url), "://")
	if !ok {
		return ""
	}
	_, slug, _ := strings.Cut(rest, "/")
	return slug
}

func owner(slug string) string {
	name, _, _ := strings.Cut(slug, "/")
	return name
}

// WebURL is the page of a repository by the address of its clone, "" where it
// has none: git@host:o/r.git, ssh://git@host/o/r and https://host/o/r.git are
// https://host/o/r.
func WebURL(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		at, path, scp := strings.Cut(remote, ":")
		if !scp || !strings.Contains(at, "@") || strings.Contains(at, "/") {
			return ""
		}
		scheme, rest = "ssh", at+"/"+path
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	switch scheme {
	case "ssh", "git", "git+ssh":
		host, _, _ = strings.Cut(host, ":")
		scheme = "https"
	case "http", "https":
	default:
		return ""
	}
	if host == "" || path == "" {
		return ""
	}
	return scheme + "://" + host + "/" + path
}
