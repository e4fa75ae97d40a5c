/** Returns the environment for a process that this process starts: its own environment, with some variables replaced. */
export function childEnvironment(replaced: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...replaced };
}
