package flow

import "context"

// Doctor looks at what this machine can do.
func (f *Flow) Doctor(ctx context.Context) []Finding {
	if f.Check == nil {
		return nil
	}
	return f.Check(ctx)
}

// Clean removes what dead processes of ours left behind and names it.
func (f *Flow) Clean(ctx context.Context, all bool) ([]string, error) {
	if f.CleanUp == nil {
		return nil, nil
	}
	return f.CleanUp(ctx, all)
}
