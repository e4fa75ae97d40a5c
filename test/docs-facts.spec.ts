import { tableOf, words } from './support/markdown';
import { commandsOf, hidesKeys, libsWithScripts, scriptsOf, unpacks } from './support/script-facts';

describe('what the documents say of the scripts', () => {
  it('names the commands that a Redis user must be allowed', () => {
    const documented = tableOf('docs/production.md', 'lib', 'commands of its scripts').map(([lib, cell]) => [
      lib,
      ...words(cell).flatMap((word) => word.split(' ')),
    ]);
    const used = libsWithScripts().map((lib) => [
      lib,
      ...commandsOf(scriptsOf(lib)).map((command) => `+${command.toLowerCase()}`),
    ]);
    expect(documented).toEqual(used);
  });

  it('says what proxies that inspect scripts would refuse', () => {
    const short = (lib: string, names: readonly string[]): string[] =>
      names.map((name) => name.slice(lib.length + 1)).sort();
    const documented = tableOf('docs/managed-redis.md', 'lib', 'keys in Lua variables').map(([lib, ...cells]) => [
      lib,
      ...cells.map((cell) => words(cell).sort()),
    ]);
    const found = libsWithScripts().map((lib) => {
      const scripts = scriptsOf(lib);
      const those = (is: (script: (typeof scripts)[number]) => boolean): string[] =>
        short(
          lib,
          scripts.filter(is).map(({ name }) => name),
        );
      return [lib, those(hidesKeys), those(unpacks), those((script) => commandsOf([script]).includes('SPUBLISH'))];
    });
    expect(documented).toEqual(found);
  });

  it('is right that every script has a key', () => {
    for (const script of libsWithScripts().flatMap(scriptsOf)) expect(script.keys.length).toBeGreaterThan(0);
  });
});
