// An application that `turnwire init --app` can write beside the configuration.

export type AppTemplate = {
  /** By path in the folder. */
  files(agent: string): Readonly<Record<string, string>>
  scripts: Readonly<Record<string, string>>
  dependencies: Readonly<Record<string, string>>
  devDependencies: Readonly<Record<string, string>>
}

type Manifest = {
  type?: string
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** Adds the application's needs to its package.json. Existing packages stay as they are. `turnwire`: where npm gets it. */
export function withApp(manifest: Manifest, app: AppTemplate, turnwire: string): Manifest {
  return {
    ...manifest,
    type: 'module',
    scripts: { ...manifest.scripts, ...app.scripts },
    dependencies: { turnwire, ...app.dependencies, ...manifest.dependencies },
    devDependencies: { ...app.devDependencies, ...manifest.devDependencies },
  }
}
