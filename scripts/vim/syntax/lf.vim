" Vim syntax of linearized functions, lf(5). Language: lf (sballoc)
if exists('b:current_syntax')
  finish
endif

syntax case match
syntax sync fromstart

syntax match lfComment /#.*/ contains=@Spell
syntax match lfTensor /%\%([A-Za-z0-9_.$-]\+\|"\%([^"\\]\|\\.\)*"\)/
syntax match lfFunction /@\%([A-Za-z0-9_.$-]\+\|"\%([^"\\]\|\\.\)*"\)/
syntax match lfMetadata /!\h[A-Za-z0-9_$.]*/ nextgroup=lfValue
syntax match lfValue /=\%("\%([^"\\]\|\\.\)*"\|[A-Za-z0-9_$.]\+\)/ contained
syntax match lfNumber /\<\%(0x\x\+\|\d\+\)[KM]\?\>/
syntax match lfOperator /+=\|==\|!=\|<=\|>=\|&&\|\.\./

" Keywords where they stand; the same words are opcodes and indices elsewhere.
syntax match lfKeyword /^\s*\zs\%(func\|target\|tensor\)\>/
syntax match lfLoop /^\s*\zsloop\>/
syntax match lfCondition /\s\zsif\>/
syntax match lfOperator /\s\zsmod\ze\s\+\d/
syntax match lfType /\<\%(sb\|dram\|psum\)<[^>]*>/
syntax match lfOpcode /=\s*\zs\%(load\|save\|copy\)\>/
syntax match lfPlaced /\s\zsat\s\+\d\+\%(:\d\+\)\?\%(,\s*\d\+:\d\+\)*/
syntax match lfAttributes />\@<=\%(\s\+\%(input\|output\|pin\|base\s\+\d\+\|align\s\+\w\+\)\)\+/

highlight default link lfComment Comment
highlight default link lfTensor Identifier
highlight default link lfFunction Function
highlight default link lfMetadata PreProc
highlight default link lfValue String
highlight default link lfNumber Number
highlight default link lfOperator Operator
highlight default link lfKeyword Keyword
highlight default link lfLoop Repeat
highlight default link lfCondition Conditional
highlight default link lfType Type
highlight default link lfAttributes StorageClass
highlight default link lfOpcode Statement
highlight default link lfPlaced Special

let b:current_syntax = 'lf'
