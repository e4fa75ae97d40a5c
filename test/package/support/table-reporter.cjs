const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/** Installed versions: a range resolves to newer ones over time. Written by fresh-app.ts into the folder of global-setup.ts. */
function installed() {
  const file = join(process.env.LUANEST_PACKAGE_FOLDER ?? '', 'installed.txt');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Prints what was tried on which app as a table, and at the very end `N passed, N failed`. */
module.exports = class TableReporter {
  onRunComplete(_contexts, { testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const tests = testResults.flatMap((file) => file.testResults);
    const rows = tests.map(({ ancestorTitles, title, status, duration }) => [
      ancestorTitles.join(' '),
      title,
      status,
      `${((duration ?? 0) / 1_000).toFixed(1)} s`,
    ]);
    const table = [['app', 'what', 'result', 'took'], ...rows];
    const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
    const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
    const [head, ...body] = table.map(line);
    console.log(['', head, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body].join('\n'));
    console.log(`\n${installed()}`);
    // Jest prints a summary of its own after this.
    const counted = `\n${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed`;
    process.once('exit', () => console.log(counted));
  }
};
