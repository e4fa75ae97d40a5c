/** Error for a configuration variable that is not allowed. The message names the variable, what was seen and what is allowed. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';

  /**
   * @param variable name of the environment variable, or `.env`
   * @param seen the value; a description of it where it may hold a secret
   * @param allowed what is allowed, as the end of "Expected ..."
   */
  constructor(
    readonly variable: string,
    readonly seen: string,
    readonly allowed: string,
    options?: ErrorOptions,
  ) {
    super(`${variable} is ${seen}. Expected ${allowed}.`, options);
    this.name = 'ConfigError';
  }
}
