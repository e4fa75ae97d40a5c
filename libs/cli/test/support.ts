import { main } from '../src/main';

/** A run of the program: the texts it printed, and its exit status. */
export interface Run {
  readonly status: number;
  readonly printed: string;
  readonly complained: string;
}

/** Runs the program in this process. */
export async function luanest(
  args: readonly string[],
  options: {
    readonly folder?: string;
    readonly url?: string;
    readonly interrupted?: (printed: string) => Promise<void>;
  } = {},
): Promise<Run> {
  const printed: string[] = [];
  const complained: string[] = [];
  const status = await main(args, {
    folder: options.folder ?? __dirname,
    environment: options.url === undefined ? {} : { REDIS_URL: options.url },
    colours: false,
    print: (text) => void printed.push(text),
    complain: (text) => void complained.push(text),
    interrupted: () => options.interrupted?.(printed.join('\n')) ?? Promise.resolve(),
  });
  return { status, printed: printed.join('\n'), complained: complained.join('\n') };
}
