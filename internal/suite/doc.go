// Package suite reads tasks and variants from disk and says everything that
// is wrong with them, with file and line and all at once; it writes tasks for
// the mining road. It never runs anything, never follows a link out of a
// task's folder, and never lets one broken task hide its siblings.
//
// A suite is a folder with one sub-folder per task:
//
//	tasks/<id>/task.json     what the task is (assay schema task)
//	           prompt.md     or any other file that prompt_file names
//	           workspace/    what the agent gets
//	           verify/       hidden tests
//	           solution/     reference solution, laid over the workspace
//	           environment/  Dockerfile and its context
//	tasks/environment/<name>/Dockerfile   shared environments; "default" is
//	                         that of tasks which name none
//	variants/<name>/variant.json and its prompt and overlay files
package suite
