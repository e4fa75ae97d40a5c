import type * as ts from 'typescript';
import type { EditedFile } from './code/edited-file';
import { addToRoot, type NestModule, registryModule } from './code/nest-modules';
import type { Project } from './code/project';
import type { Migration } from './migration';

const SCHEDULE = '@nestjs/schedule';
const FROM = 'luanest/scheduled-lock';

/** Codemod `luanest migrate schedule`: adds @ScheduledLock to the jobs of @nestjs/schedule, so that each run happens on one node only. */
export const schedule: Migration = {
  guide: 'from-nest-schedule.md',
  afterwards: ['npm install luanest ioredis'],
  migrate(project) {
    const files = project.importing(SCHEDULE);
    let jobs = 0;
    for (const file of files) jobs += lockJobs(file, project);
    if (jobs === 0) return;
    const modules: NestModule[] = [...registryModule(project)];
    if (!project.imports(FROM, 'ScheduledLockModule'))
      modules.push({
        from: FROM,
        name: 'ScheduledLockModule',
        call: `ScheduledLockModule.forRoot({ namespace: '${project.name}' })`,
      });
    const [first] = files;
    const root = project.rootModule();
    if (!addToRoot(project, modules) && first)
      first.note(
        first.source,
        'must',
        `No root module was found, so nothing was added. Add this to the imports of your root module: ${modules.map(({ call }) => call).join(', ')}`,
      );
    else if (root && modules.length > 0)
      root.file.note(
        root.type,
        'check',
        'Modules were added. Set `url` to your Redis. `namespace` is the name of the app: two apps with the same namespace share the locks of their jobs',
      );
  },
};

/** Adds locks to the jobs of a file. @returns the number of jobs that got a lock */
function lockJobs(file: EditedFile, project: Project): number {
  const { syntax } = project;
  const schedulers = new Map(
    file.imports
      .from(SCHEDULE)
      .filter(({ name }) => /^(Cron|Interval|Timeout)$/.test(name))
      .map(({ name, local }) => [local, name]),
  );
  noteDynamicJobs(file, project);
  let jobs = 0;
  for (const type of syntax.classes(file.source)) {
    for (const method of type.members.filter(syntax.ts.isMethodDeclaration)) {
      const decorators = syntax.decorators(method);
      const [job, second] = decorators.filter((decorator) => schedulers.has(syntax.nameOfDecorator(decorator)));
      if (!job) continue;
      if (decorators.some((decorator) => syntax.nameOfDecorator(decorator) === 'ScheduledLock')) continue;
      const problem = problemOf(project, type, method, schedulers.get(syntax.nameOfDecorator(job)) ?? '', second);
      if (problem) {
        file.note(job, 'must', problem);
        continue;
      }
      const other = decorators.find((decorator) => /lock|mutex|leader/i.test(syntax.nameOfDecorator(decorator)));
      if (other) file.note(other, 'must', `${other.getText()} also locks this job. Remove that lock`);
      const start = job.getStart();
      file.add({ start, end: start, text: `@ScheduledLock()\n${file.indentAt(start)}` });
      file.imports.want(FROM, 'ScheduledLock');
      jobs += 1;
    }
  }
  return jobs;
}

/** Returns the reason why a job cannot get a lock; undefined if it can. */
function problemOf(
  { syntax }: Project,
  type: ts.ClassDeclaration,
  method: ts.MethodDeclaration,
  scheduler: string,
  second: ts.Decorator | undefined,
): string | undefined {
  if (second)
    return 'The method has two schedules. Give each schedule a method of its own, then run luanest migrate again';
  if (scheduler === 'Timeout')
    return 'A job with @Timeout runs at each start of each process. To run it once for each version of the app, add @ScheduledLock({ key: version })';
  const injectable = syntax.decorator(type, 'Injectable')?.arguments[0]?.getText() ?? '';
  if (/Scope\.(REQUEST|TRANSIENT)/.test(injectable))
    return 'The class of this job is request-scoped or transient, so it cannot be locked. Move the job into a provider of the default scope';
  if (method.modifiers?.some(({ kind }) => kind === syntax.ts.SyntaxKind.StaticKeyword))
    return 'A static method cannot be locked. Move the job to an instance method';
  return undefined;
}

function noteDynamicJobs(file: EditedFile, { syntax }: Project): void {
  for (const call of syntax.all(file.source, syntax.ts.isCallExpression)) {
    if (/\.add(CronJob|Interval|Timeout)$/.test(call.expression.getText()))
      file.note(
        call,
        'must',
        'This job is added at run time, so the nodes have no common scheduled time for it, and it cannot be locked. Use @Cron with a `name` and getCronJob(name).setTime(...), or luanest/delayed-task',
      );
  }
}
