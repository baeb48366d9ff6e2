"""The small closed language of questions and of rows: tokens, trees and one way to read them. What names and functions mean is
for the two that use it, `app/core/decisions/expressions` and `app/core/schema/rows`."""
