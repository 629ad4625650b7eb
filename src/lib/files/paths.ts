// Paths as text.

/** Whether an absolute path without `..` is a folder or lies in it. */
export function isInFolder(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}
