// Tools for the files of one folder.
export { type WorkspaceOptions, type WorkspaceTool, workspace } from './workspace.ts'
