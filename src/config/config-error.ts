/** A configuration variable that the app refuses; the message names the variable, the value seen and what to do. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';

  /**
   * @param variable name of the environment variable
   * @param seen the value, already stripped of secrets
   * @param remedy what to write instead
   */
  constructor(
    readonly variable: string,
    seen: string,
    remedy: string,
  ) {
    super(`${variable}: ${seen} is refused. ${remedy}`);
    this.name = 'ConfigError';
  }
}
